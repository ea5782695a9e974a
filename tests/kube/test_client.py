"""The way into the cluster, over real sockets."""

import json
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.kube.api import ApiError, NoAnswerError, TimeOuts
from scaler.kube.client import ApiServer
from scaler.kube.credentials import NoClusterError, find_credentials
from tests.kube.apiserver import Hang, LoopbackApi, Refuse, Say
from tests.kube.documents import line, workload
from tests.kube.loopback import running

PATH = "/apis/kueue.x-k8s.io/v1beta2/workloads"


@pytest.fixture
def server() -> Iterator[LoopbackApi]:
    """Give a running server."""
    with running() as made:
        yield made


def connect(server: LoopbackApi, folder: Path, **user: str) -> ApiServer:
    """Give a client of the server, quick to lose patience."""
    return ApiServer(
        find_credentials(server.kubeconfig(folder, user)), time_outs=TimeOuts(read=5.0)
    )


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        """Give the time."""
        return self.at


# --- tokens ------------------------------------------------------------------------------------


def test_a04_a_rotated_token_file_is_read_again_on_401(server: LoopbackApi, tmp_path: Path) -> None:
    """A04: the file changes, then only the new token is let in: one refused call, unseen."""
    file = tmp_path / "token"
    file.write_text("A\n", encoding="utf-8")
    api = connect(server, tmp_path, tokenFile=str(file))
    server.allowed = "Bearer A"
    api.get(PATH, params={})
    file.write_text("B\n", encoding="utf-8")
    server.allowed = "Bearer B"
    before = len(server.asked)
    for _ in range(3):
        api.get(PATH, params={})
    sent = [asked.headers["authorization"] for asked in server.asked[before:]]
    assert sent == ["Bearer A", "Bearer B", "Bearer B", "Bearer B"]


def test_a04_a_token_file_is_read_again_every_minute(server: LoopbackApi, tmp_path: Path) -> None:
    """A04: without waiting for a refusal."""
    file = tmp_path / "token"
    file.write_text("A", encoding="utf-8")
    clock = Clock()
    config = server.kubeconfig(tmp_path, {"tokenFile": str(file)})
    credentials = find_credentials(config, clock=clock)
    file.write_text("B", encoding="utf-8")
    clock.at = 59.0
    assert credentials.header() == {"authorization": "Bearer A"}
    clock.at = 60.0
    assert credentials.header() == {"authorization": "Bearer B"}
    file.unlink()
    clock.at = 200.0
    assert credentials.header() == {"authorization": "Bearer B"}


def test_a_token_that_stays_refused_is_an_error_after_two_calls(
    server: LoopbackApi, tmp_path: Path
) -> None:
    """No loop of logins."""
    api = connect(server, tmp_path, token="wrong")
    server.allowed = "Bearer right"
    with pytest.raises(ApiError) as caught:
        api.get(PATH, params={})
    assert caught.value.status == 401
    assert len(server.asked) == 2


@pytest.mark.parametrize("token", ["hunter2hunter2\nand\xe9more", "hunter2hunter2\u20ac"])
def test_a_token_that_cannot_be_sent_is_told_and_never_shown(
    server: LoopbackApi, tmp_path: Path, token: str
) -> None:
    """Its problem goes to the page and into Events, where no log hides anything."""
    api = connect(server, tmp_path, token=token)
    with pytest.raises(NoAnswerError, match="must be one line of ASCII") as caught:
        api.get("/api/v1/pods", params={})
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_name_and_password_are_sent(server: LoopbackApi, tmp_path: Path) -> None:
    """Old kubeconfigs have no token."""
    connect(server, tmp_path, username="me", password="secret").get(PATH, params={})
    assert server.asked[-1].headers["authorization"] == "Basic bWU6c2VjcmV0"


# --- finding a cluster -------------------------------------------------------------------------


def test_without_a_kubeconfig_one_sentence_names_the_demo(tmp_path: Path) -> None:
    """Nothing is there: say what would be, and what needs none."""
    with pytest.raises(NoClusterError) as caught:
        find_credentials(environ={"HOME": str(tmp_path)})
    assert "kueue-gpu-scaler demo" in str(caught.value)
    assert "\n" not in str(caught.value)


CLUSTERS = "clusters: [{name: k, cluster: {server: http://k}}]\ncurrent-context: c\n"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "a: [",
        "kind: Config",
        "[]",
        "users: 1",
        "&a [*a]",
        "{a: !!timestamp noon}",
        "{a: !!bool maybe}",
        CLUSTERS + "users: []\ncontexts: [{name: c, context: 5}]",
        CLUSTERS + "users: [{name: u, user: x}]\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]",
    ],
)
def test_a_broken_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    """Whatever is wrong with it, it is one sentence with its path."""
    path = tmp_path / "broken"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(NoClusterError, match="broken"):
        find_credentials(str(path))
    with pytest.raises(NoClusterError, match="demo"):
        find_credentials(environ={"KUBECONFIG": str(path)})


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    """One that was asked for is not silently another."""
    with pytest.raises(NoClusterError, match="absent"):
        find_credentials(str(tmp_path / "absent"))


def test_a_context_that_is_not_there_is_named(server: LoopbackApi, tmp_path: Path) -> None:
    """A typo in --context."""
    with pytest.raises(NoClusterError, match="elsewhere"):
        find_credentials(server.kubeconfig(tmp_path), context="elsewhere")


def test_a_pod_without_its_service_account_is_told_so() -> None:
    """The environment of a pod, but no token in the file system of this machine."""
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(NoClusterError, match="service account"):
        find_credentials(environ=environ)


def test_home_is_looked_at_last(server: LoopbackApi, tmp_path: Path) -> None:
    """~/.kube/config is used where nothing else is named."""
    folder = tmp_path / ".kube"
    folder.mkdir()
    (folder / "config").write_text(
        Path(server.kubeconfig(tmp_path)).read_text(encoding="utf-8"), encoding="utf-8"
    )
    api = ApiServer(find_credentials(environ={"HOME": str(tmp_path)}))
    assert b"WorkloadList" in api.get(PATH, params={})


# --- answers -----------------------------------------------------------------------------------


def test_a_refusal_carries_the_servers_sentence(server: LoopbackApi, tmp_path: Path) -> None:
    """Status, message and Retry-After."""
    server.fail("list", Refuse(status=429, message="too many", retry_after="3"))
    with pytest.raises(ApiError, match="429: too many") as caught:
        connect(server, tmp_path).get(PATH, params={})
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)


def test_a_retry_after_that_is_a_date_is_none(server: LoopbackApi, tmp_path: Path) -> None:
    """Proxies write dates."""
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    server.fail("list", Refuse(status=503, retry_after=date))
    with pytest.raises(ApiError) as caught:
        connect(server, tmp_path).get(PATH, params={})
    assert caught.value.retry_after == 0.0


def test_no_answer_within_the_time_out_is_silence(server: LoopbackApi, tmp_path: Path) -> None:
    """A server that takes the request and says nothing."""
    server.fail("list", Hang())
    config = find_credentials(server.kubeconfig(tmp_path))
    with pytest.raises(NoAnswerError) as caught:
        ApiServer(config, time_outs=TimeOuts(read=0.1)).get(PATH, params={})
    assert caught.value.silent


def test_a_refused_connection_is_not_silence(tmp_path: Path) -> None:
    """Nobody listens any more."""
    with running() as server:
        config = server.kubeconfig(tmp_path)
    with pytest.raises(NoAnswerError) as caught:
        ApiServer(find_credentials(config)).get(PATH, params={})
    assert not caught.value.silent
    assert "0x" not in str(caught.value)


def test_lines_are_cut_at_newlines_only(server: LoopbackApi, tmp_path: Path) -> None:
    """Long lines, blank lines and a last one without an end."""
    long = line("ADDED", workload("x" * 200_000))
    server.fail("watch", Say(body=long + b"\n\n" + b"rest"))
    stream = connect(server, tmp_path).stream(PATH, params={"watch": "true"}, read_timeout=5.0)
    assert list(stream) == [long.rstrip(b"\n"), b"rest"]


def test_a_redirect_is_not_followed(server: LoopbackApi, tmp_path: Path) -> None:
    """A token goes to no other host."""
    server.fail("list", Refuse(status=302))
    api = connect(server, tmp_path, token="secret")
    assert json.loads(api.get(PATH, params={}))["kind"] == "Status"
    assert len(server.asked) == 1


def test_what_is_written_arrives(server: LoopbackApi, tmp_path: Path) -> None:
    """A POST with its content type."""
    answer = connect(server, tmp_path).send("POST", "/api/v1/x", body=b'{"a":1}')
    assert json.loads(answer) == {"a": 1}
    assert server.asked[-1].headers["content-type"] == "application/json"
    assert server.written == [("POST", "/api/v1/x", {"a": 1})]
