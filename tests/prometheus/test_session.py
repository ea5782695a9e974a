"""The connection against a real socket: every way in which a server can fail to answer."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.core.policy import PrometheusSettings
from scaler.prometheus.session import BODY_LIMIT, Connection, TimedOutError, UnreachableError
from scaler.prometheus.vector import QueryFailedError
from scaler.sim.prometheus import Fault, PrometheusServer
from scaler.sim.samples import SampleStore
from tests.authorities import Authority
from tests.prometheus.fleet import NOW


@contextlib.contextmanager
def connected(
    settings: PrometheusSettings, *, body_limit: int = BODY_LIMIT
) -> Iterator[Connection]:
    """Connect, and close in the end."""
    connection = Connection(settings, body_limit=body_limit)
    try:
        yield connection
    finally:
        connection.close()


def failure(settings: PrometheusSettings) -> str:
    """Ask once; give the sentence that says why it failed."""
    with connected(settings) as connection, pytest.raises(QueryFailedError) as caught:
        connection.query("up", at=NOW)
    return str(caught.value)


def test_a_query_is_posted_as_a_form_with_its_instant_and_thanos_parameters(
    prometheus: PrometheusServer,
) -> None:
    """A query is posted as a form with its instant and thanos parameters."""
    prometheus.samples.append("up", {"job": "a"}, at=NOW, value=1.0)
    with connected(PrometheusSettings(url=f"{prometheus.url}/", timeout=5.0)) as connection:
        answer = connection.query("up", at=NOW)
    assert [(s.labels, s.value) for s in answer.vector] == [({"__name__": "up", "job": "a"}, 1.0)]
    (asked,) = prometheus.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/query")
    assert asked.parameters == {
        "query": "up",
        "time": "1790000010.000",
        "timeout": "4500ms",
        "dedup": "true",
        "partial_response": "false",
    }


def test_a_query_longer_than_any_url_may_be_arrives_whole(prometheus: PrometheusServer) -> None:
    """A query longer than any URL may be arrives whole."""
    prometheus.fault = Fault.EMPTY
    expression = " or ".join(f"metric_{number}" for number in range(4000))
    with connected(PrometheusSettings(url=prometheus.url)) as connection:
        connection.query(expression, at=NOW)
    assert prometheus.asked[0].parameters["query"] == expression


def test_extra_headers_are_sent(prometheus: PrometheusServer) -> None:
    """Extra headers are sent."""
    with connected(
        PrometheusSettings(url=prometheus.url, headers={"X-Scope-OrgID": "team"})
    ) as connection:
        connection.query("up", at=NOW)
    assert prometheus.asked[0].headers["x-scope-orgid"] == "team"


def test_the_urls_own_password_is_used_and_a_netrc_file_is_not(
    prometheus: PrometheusServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The URL's own password is used and a netrc file is not."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login from password netrc\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with connected(PrometheusSettings(url=prometheus.url)) as plain:
        plain.query("up", at=NOW)
    with connected(PrometheusSettings(url=prometheus.url.replace("://", "://me:secret@"))) as named:
        named.query("up", at=NOW)
    first, second = prometheus.asked
    assert "authorization" not in first.headers
    assert second.headers["authorization"] == "Basic bWU6c2VjcmV0"


def test_p01_an_execution_error_keeps_its_error_type(prometheus: PrometheusServer) -> None:
    """P01 (b), P05: a 422 fails with Prometheus' own word and message."""
    prometheus.fault = Fault.TOO_MANY_SAMPLES
    told = failure(PrometheusSettings(url=prometheus.url))
    assert told.startswith("HTTP 422, execution: query processing would load too many samples")


def test_p02_a_login_page_with_200_is_no_answer(prometheus: PrometheusServer) -> None:
    """P02: the body is not JSON, and the sentence says what it is."""
    prometheus.fault = Fault.HTML
    assert "text/html" in failure(PrometheusSettings(url=prometheus.url))


def test_p02_a_redirect_is_not_followed_with_the_token(
    prometheus: PrometheusServer, tmp_path: Path
) -> None:
    """P02: a redirect is an error, and the next host hears nothing."""
    token = tmp_path / "token"
    token.write_text("secret")
    with PrometheusServer(SampleStore(), clock=lambda: NOW) as other:
        prometheus.fault = Fault.REDIRECT
        prometheus.redirect_to = other.url
        told = failure(PrometheusSettings(url=prometheus.url, token_file=str(token)))
        assert "HTTP 302: redirected to 127.0.0.1:" in told
        assert other.asked == []
    assert len(prometheus.asked) == 1


def test_p03_a_changed_token_file_is_read_at_the_next_query(
    prometheus: PrometheusServer, tmp_path: Path
) -> None:
    """P03: no restart, no reload, not even one failure."""
    token = tmp_path / "token"
    token.write_text("old\n")
    prometheus.token = "old"
    with connected(PrometheusSettings(url=prometheus.url, token_file=str(token))) as connection:
        connection.query("up", at=NOW)
        prometheus.token = "new"
        token.write_text("new\n")
        connection.query("up", at=NOW)
    assert [a.headers["authorization"] for a in prometheus.asked] == ["Bearer old", "Bearer new"]


def test_p03_a_token_that_changed_during_the_request_is_tried_once_after_a_401(
    prometheus: PrometheusServer, tmp_path: Path
) -> None:
    """P03: the 401 itself makes it look again."""
    token = tmp_path / "token"
    token.write_text("old")
    prometheus.token = "new"
    prometheus.on_request = lambda: token.write_text("new")
    with connected(PrometheusSettings(url=prometheus.url, token_file=str(token))) as connection:
        connection.query("up", at=NOW)
    assert [a.headers["authorization"] for a in prometheus.asked] == ["Bearer old", "Bearer new"]


def test_a_401_with_an_unchanged_token_is_told_and_not_repeated(
    prometheus: PrometheusServer, tmp_path: Path
) -> None:
    """A 401 with an unchanged token is told and not repeated."""
    token = tmp_path / "token"
    token.write_text("old")
    prometheus.token = "new"
    assert failure(PrometheusSettings(url=prometheus.url, token_file=str(token))).startswith(
        "HTTP 401"
    )
    assert len(prometheus.asked) == 1


@pytest.mark.parametrize(("content", "told"), [(None, "No such file"), (" \n", "is empty")])
def test_without_a_token_nothing_is_sent(
    prometheus: PrometheusServer, tmp_path: Path, content: str | None, told: str
) -> None:
    """Without a token nothing is sent."""
    token = tmp_path / "token"
    if content is not None:
        token.write_text(content)
    sentence = failure(PrometheusSettings(url=prometheus.url, token_file=str(token)))
    assert sentence.startswith("tokenFile: ")
    assert told in sentence
    assert prometheus.asked == []


def test_p04_503_while_the_log_is_replayed_fails_every_time_and_is_not_retried(
    prometheus: PrometheusServer,
) -> None:
    """P04: one request a query, each told as it is."""
    prometheus.fault = Fault.UNAVAILABLE
    told = [failure(PrometheusSettings(url=prometheus.url)) for _ in range(3)]
    expected = "HTTP 503, not from the Prometheus API: Service Unavailable"
    assert told == [expected] * 3
    assert len(prometheus.asked) == 3


def test_p05_an_answer_beyond_the_limit_is_refused_unread(prometheus: PrometheusServer) -> None:
    """P05: memory is bounded by the limit, whatever the server sends."""
    for number in range(2000):
        prometheus.samples.append("m", {"n": str(number)}, at=NOW, value=1.0)
    with (
        connected(PrometheusSettings(url=prometheus.url), body_limit=50_000) as connection,
        pytest.raises(QueryFailedError, match="larger than 50000 bytes"),
    ):
        connection.query("m", at=NOW)


def test_p05_a_large_answer_within_the_limit_is_read_whole(prometheus: PrometheusServer) -> None:
    """P05: many rows are slow, not wrong."""
    for number in range(2000):
        prometheus.samples.append("m", {"n": str(number)}, at=NOW, value=float(number))
    with connected(PrometheusSettings(url=prometheus.url)) as connection:
        answer = connection.query("m", at=NOW)
    assert sum(sample.value for sample in answer.vector) == sum(range(2000))


def test_p07_a_private_authority_is_trusted_only_by_its_own_bundle(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """P07: right bundle, none, a wrong one; then the file is replaced."""
    right, wrong = authorities
    bundle = tmp_path / "ca.crt"
    with PrometheusServer(SampleStore(), clock=lambda: NOW, tls=right.server) as server:
        assert failure(PrometheusSettings(url=server.url)).startswith(
            "TLS: the server's certificate was refused"
        )
        bundle.write_bytes(wrong.bundle.read_bytes())
        with connected(PrometheusSettings(url=server.url, ca_file=str(bundle))) as connection:
            with pytest.raises(UnreachableError, match="TLS: the server's certificate"):
                connection.query("up", at=NOW)
            assert server.asked == []
            replacement = tmp_path / "new.crt"
            replacement.write_bytes(right.bundle.read_bytes())
            replacement.replace(bundle)
            connection.query("up", at=NOW)
        assert len(server.asked) == 1


def test_p07_a_bundle_that_no_longer_trusts_the_server_ends_its_kept_connection(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """P07: what was verified by the old file is not trusted by the new one."""
    right, wrong = authorities
    bundle = tmp_path / "ca.crt"
    bundle.write_bytes(right.bundle.read_bytes())
    with (
        PrometheusServer(SampleStore(), clock=lambda: NOW, tls=right.server) as server,
        connected(PrometheusSettings(url=server.url, ca_file=str(bundle))) as connection,
    ):
        connection.query("up", at=NOW)
        (tmp_path / "new.crt").write_bytes(wrong.bundle.read_bytes())
        (tmp_path / "new.crt").replace(bundle)
        with pytest.raises(UnreachableError, match="TLS"):
            connection.query("up", at=NOW)


def test_a_plain_client_does_not_disturb_a_double_with_tls(
    authorities: tuple[Authority, Authority],
) -> None:
    """A plain client does not disturb a double with tls."""
    right = authorities[0]
    with PrometheusServer(SampleStore(), clock=lambda: NOW, tls=right.server) as server:
        plain = PrometheusSettings(url=server.url.replace("https:", "http:"))
        assert failure(plain)
        with connected(PrometheusSettings(url=server.url, ca_file=str(right.bundle))) as connection:
            connection.query("up", at=NOW)


def test_a_missing_bundle_is_told_and_never_means_no_verification(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    """A missing bundle is told and never means no verification."""
    with PrometheusServer(SampleStore(), clock=lambda: NOW, tls=authorities[0].server) as server:
        told = failure(PrometheusSettings(url=server.url, ca_file=str(tmp_path / "nowhere.crt")))
        assert "nowhere.crt" in told
        assert server.asked == []


def test_a_server_that_hangs_up_or_is_not_there_is_out_of_reach(
    prometheus: PrometheusServer,
) -> None:
    """A server that hangs up or is not there is out of reach."""
    prometheus.fault = Fault.REFUSE
    assert "without response" in failure(PrometheusSettings(url=prometheus.url))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert failure(PrometheusSettings(url=nobody)) == f"Connection refused ({nobody})"


def test_the_address_is_told_without_what_opens_it() -> None:
    """A wrong URL is seen at once; user, password and parameters are nobody's business."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}/api"
        said = failure(PrometheusSettings(url=f"http://me:secret-word@{place}?key=k"))
    assert f"(http://{place})" in said
    assert "secret-word" not in said


def test_a_silent_server_times_out(prometheus: PrometheusServer) -> None:
    """A silent server times out."""
    prometheus.fault = Fault.SLOW
    with (
        connected(PrometheusSettings(url=prometheus.url, timeout=0.1)) as connection,
        pytest.raises(TimedOutError, match=r"no answer within 0\.1 s"),
    ):
        connection.query("up", at=NOW)


def test_a_server_that_drips_its_answer_times_out_too() -> None:
    """Each byte comes in time; the whole does not."""
    enough = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_drip, args=(listener, enough))
        thread.start()
        port = listener.getsockname()[1]
        try:
            with (
                connected(
                    PrometheusSettings(url=f"http://127.0.0.1:{port}", timeout=0.3)
                ) as connection,
                pytest.raises(TimedOutError),
            ):
                connection.query("up", at=NOW)
        finally:
            enough.set()
            thread.join()


def _drip(listener: socket.socket, enough: threading.Event) -> None:
    client, _ = listener.accept()
    with client, contextlib.suppress(OSError):
        client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        while not enough.wait(0.02):
            client.sendall(b" ")


@pytest.mark.parametrize(
    "url", ["http://", "nonsense", "ftp://127.0.0.1", "http://127.0.0.1:99999999"]
)
def test_a_url_that_is_none_is_told_in_a_sentence(url: str) -> None:
    """A URL that is none is told in a sentence."""
    assert failure(PrometheusSettings(url=url))


def test_a_header_that_can_not_be_sent_is_told_in_a_sentence(prometheus: PrometheusServer) -> None:
    """A header that can not be sent is told in a sentence."""
    assert failure(PrometheusSettings(url=prometheus.url, headers={"X-Team": "a\r\nHost: b"}))
    assert prometheus.asked == []


def test_a_login_cookie_is_not_kept_beyond_its_token(prometheus: PrometheusServer) -> None:
    """A login cookie is not kept beyond its token."""
    prometheus.set_cookie = "session=1"
    with connected(PrometheusSettings(url=prometheus.url)) as connection:
        connection.query("up", at=NOW)
        connection.query("up", at=NOW)
    assert ["cookie" in asked.headers for asked in prometheus.asked] == [False, False]


def test_a_query_after_the_server_came_back_is_answered(prometheus: PrometheusServer) -> None:
    """A query after the server came back is answered."""
    with connected(PrometheusSettings(url=prometheus.url)) as connection:
        prometheus.fault = Fault.REFUSE
        with pytest.raises(UnreachableError):
            connection.query("up", at=NOW)
        prometheus.fault = Fault.NONE
        assert connection.query("up", at=NOW).vector == ()
