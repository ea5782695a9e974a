"""Lines are JSON in a cluster, readable at a terminal, and never show a secret."""

import io
import json
import logging
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from scaler import log
from scaler.core.policy import PrometheusSettings
from scaler.kube.credentials import find_credentials
from scaler.prometheus.failure import describe
from scaler.prometheus.session import Connection
from scaler.prometheus.vector import QueryFailedError

TOKEN = "sha256~Wm9rLTk4NzY1NDMyMQ"
"""As OpenShift makes them."""
PASSWORD = "hunter2hunter2"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    """Read what was logged as JSON."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_in_a_cluster_each_line_is_one_json_object() -> None:
    """With the event, its level and its time."""
    stream = io.StringIO()
    log.configure(stream=stream)
    structlog.get_logger().info("decided", value=3)
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["value"]) == ("decided", "info", 3)
    assert "timestamp" in line


def test_at_a_terminal_a_line_is_for_people() -> None:
    """Keys and values, no braces."""
    stream = Terminal()
    log.configure(stream=stream)
    structlog.get_logger().info("decided", value=3)
    assert "decided" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_debug_lines_come_only_where_they_are_asked_for() -> None:
    """`--verbose` does."""
    for verbose, count in ((False, 0), (True, 1)):
        stream = io.StringIO()
        log.configure(stream=stream, verbose=verbose)
        structlog.get_logger().debug("detail")
        assert len(lines(stream)) == count


def test_what_libraries_warn_of_is_a_line_like_ours() -> None:
    """And what they merely tell is none."""
    stream = io.StringIO()
    log.configure(stream=stream, verbose=True)
    logging.getLogger("urllib3.connectionpool").debug("GET /secrets")
    logging.getLogger("urllib3.connectionpool").warning("pool is full: %s", "x")
    (line,) = lines(stream)
    assert (line["event"], line["level"]) == ("pool is full: x", "warning")


def fail_with(text: str) -> None:
    """Raise an exception with such words."""
    raise ValueError(text)


def test_a_stream_that_is_closed_is_written_to_no_more() -> None:
    """A library that warns then must not fail for it."""
    stream = io.StringIO()
    log.configure(stream=stream)
    stream.close()
    logging.getLogger("urllib3").warning("too late")


SEEN = (
    f"http://admin:{PASSWORD}@prom:9090/api",
    f"https://{TOKEN}@prom/",
    f"http://admin:{PASSWORD}@with@prom:9090/",
    f"Authorization: Bearer {TOKEN}",
    f"Invalid header value b'Bearer {TOKEN}'",
    f"authorization=Basic {PASSWORD}",
    f"password={PASSWORD}",
    f'{{"token": "{TOKEN}"}}',
    f"my_api_key: {PASSWORD}",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlc2lnbmF0dXJl",
)


@pytest.mark.parametrize("text", SEEN)
@pytest.mark.parametrize("terminal", [False, True])
def test_what_looks_like_a_secret_is_hidden_wherever_it_is(text: str, *, terminal: bool) -> None:
    """In an event, a value, a list, a mapping, an exception and a library's words."""
    stream = Terminal() if terminal else io.StringIO()
    log.configure(stream=stream, verbose=True)
    logger = structlog.get_logger()
    logger.debug(text, plain=text, nested={"inner": [text, (text,)]})
    try:
        fail_with(text)
    except ValueError:
        logger.exception("failed", error=ValueError(text))
        logging.getLogger("requests").exception("failed: %s", text)
    said = stream.getvalue()
    assert said.count(log.HIDDEN) >= 7
    for secret in (TOKEN, PASSWORD, "c2lnbmF0dXJl"):
        assert secret not in said


@given(
    secret=st.text(
        st.characters(codec="ascii", categories=("L", "N", "P"), exclude_characters="*"), min_size=6
    ),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_law_a_secret_that_is_known_is_never_shown(secret: str, before: str, after: str) -> None:
    """Wherever it stands in a line: value, key, exception."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "_secrets", log._Secrets())
        log.hide(secret)
        stream = io.StringIO()
        log.configure(stream=stream, verbose=True)
        try:
            fail_with(before + secret + after)
        except ValueError:
            structlog.get_logger().exception(before + secret, value={secret: [secret + after]})
        (line,) = lines(stream)
        shown = [str(line[key]) for key in ("event", "value", "exception")]
        assert not [each for each in shown if secret in each]


def test_of_tokens_that_rotate_the_newest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs for a year reads thousands, and each line is held against all."""
    monkeypatch.setattr(log, "_secrets", log._Secrets())
    tokens = [f"rotated-token-{number:04}" for number in range(1000)]
    for token in tokens:
        log.hide(token)
    assert tokens[-1] not in log.redacted(f"sent {tokens[-1]}")
    assert len(log._secrets.longest_first) <= log._MOST


@pytest.mark.parametrize("key", ["token", "password", "bearer_token", "Authorization", "api_key"])
def test_what_a_key_names_as_a_secret_is_hidden_whatever_it_looks_like(key: str) -> None:
    """Short ones too."""
    stream = io.StringIO()
    log.configure(stream=stream)
    structlog.get_logger().info("x", **{key: "abc"}, nested={key: "abc"})
    assert "abc" not in stream.getvalue()


def test_plain_words_stay_as_they_are() -> None:
    """What people read is not mangled."""
    text = "pool a100: 3 nodes at http://prometheus:9090/api; mail me@example.com; basic auth"
    assert log.redacted(text) == text


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {USER}}]
"""


@pytest.mark.parametrize("user", [f'token: "{TOKEN}"', f'username: admin, password: "{PASSWORD}"'])
def test_a_kubeconfig_s_credentials_are_hidden_once_they_are_used(
    user: str, tmp_path: Path
) -> None:
    """In whatever words a library may quote them."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.replace("{USER}", f"{{{user}}}"), encoding="utf-8")
    header = find_credentials(str(path)).header()["authorization"]
    stream = io.StringIO()
    log.configure(stream=stream, verbose=True)
    structlog.get_logger().warning(f"sent {header!r}", raw=header.split(" ")[-1])
    said = stream.getvalue()
    assert header.split(" ")[-1] not in said
    assert TOKEN not in said
    assert PASSWORD not in said


def test_prometheus_s_bearer_token_is_in_no_problem_and_no_line(tmp_path: Path) -> None:
    """Not even where it can't be sent, which the HTTP library tells by quoting it."""
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\nsecond-line-of-it", encoding="ascii")
    settings = PrometheusSettings(url="http://127.0.0.1:9", token_file=str(token))
    problem = _problem(settings)
    assert TOKEN not in problem
    assert "second-line-of-it" not in problem


def test_a_header_of_the_policy_is_in_no_problem() -> None:
    """Its value is what opens the door."""
    settings = PrometheusSettings(url="http://127.0.0.1:9", headers={"X-Key": f"{PASSWORD}\n x"})
    assert PASSWORD not in _problem(settings)


def test_a_password_of_the_policy_s_url_is_in_no_problem() -> None:
    """An URL that can't be parsed is quoted by the library."""
    settings = PrometheusSettings(url=f"http://admin:{PASSWORD}@[bad/")
    try:
        problem = _problem(settings)
    except ValueError as error:
        problem = log.redacted(describe(error))
    assert PASSWORD not in problem


def _problem(settings: PrometheusSettings) -> str:
    session = Connection(settings)
    stream = io.StringIO()
    log.configure(stream=stream, verbose=True)
    try:
        session.query("up", at=1.0)
    except QueryFailedError as error:
        structlog.get_logger().exception("refresh failed")
        return f"{error} {stream.getvalue()}"
    finally:
        session.close()
    raise AssertionError("nobody listens there")
