"""Ask Prometheus through PrometheusConnect, over a session that hides nothing.

No retry: a failed query must be seen as one. No redirect: the next host is not ours to tell the
token to. One request at a time; a session is not shared between threads.
"""

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import prometheus_api_client
import requests
import urllib3
from requests.adapters import Retry
from requests.auth import AuthBase, HTTPBasicAuth
from requests.utils import get_auth_from_url

from scaler import log
from scaler.core.model import Instant
from scaler.core.policy import PrometheusSettings
from scaler.prometheus.failure import describe
from scaler.prometheus.series import Matrix, decode_matrix
from scaler.prometheus.vector import (
    Answer,
    ForeignAnswerError,
    QueryFailedError,
    decode_answer,
    describe_error,
)

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of an answer, unpacked."""
_ERROR_LIMIT: Final = 64 * 1024
_CHUNK: Final = 256 * 1024
_THANOS: Final = {"dedup": "true", "partial_response": "false"}
"""A store that is down is an error then; Prometheus itself ignores both."""
_SERVER_SHARE: Final = 0.9
"""Of the time-out, so that the server's own `timeout` error arrives before we hang up."""


_OF_TENANTS: Final = ("orgid", "tenant")
"""Ends of header names whose values open no door: teams are called so in other places too."""


class UnreachableError(QueryFailedError):
    """The server can't be asked at all: the next query would fail the same way."""


class TimedOutError(QueryFailedError):
    """The answer did not come in time; a lighter query might get one."""


class Connection:
    """One Prometheus under one set of settings; `close` it when they change."""

    def __init__(self, settings: PrometheusSettings, *, body_limit: int = BODY_LIMIT) -> None:
        self.settings = settings
        for name, value in settings.headers.items():
            if not name.lower().endswith(_OF_TENANTS):
                log.hide(value.strip())
        self._ca = _WatchedFile(settings.ca_file)
        self._session = _Session(settings, body_limit=body_limit)
        self._connect = prometheus_api_client.PrometheusConnect(
            url=settings.url.rstrip("/"),
            headers=dict(settings.headers),
            retry=Retry(total=0, redirect=False),
            session=self._session,
            method="POST",
        )

    def query(self, expression: str, *, at: Instant, timeout: float | None = None) -> Answer:
        """Evaluate an expression at an instant; `timeout` overrides that of the settings.

        Raises:
            QueryFailedError: whatever went wrong, in one sentence.
        """
        limit = self.settings.timeout if timeout is None else timeout
        self._session.decode = decode_answer
        answer: Answer = self._ask(expression, at=at, limit=limit)
        return answer

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Give the raw samples of a range selector.

        Raises:
            QueryFailedError: whatever went wrong, in one sentence.
        """
        self._session.decode = decode_matrix
        matrix: Matrix = self._ask(expression, at=at, limit=self.settings.timeout)
        return matrix

    def _ask(self, expression: str, *, at: Instant, limit: float) -> Any:  # noqa: ANN401 - what the session's decoder made
        if self._ca.replaced():
            self.close()  # kept connections were verified by the old bundle
        on_server = f"{max(1, round(limit * 1000 * _SERVER_SHARE))}ms"
        params = {"time": f"{at:.3f}", "timeout": on_server, **_THANOS}
        try:
            return self._connect.custom_query(expression, params=params, timeout=limit)
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise TimedOutError(f"no answer within {limit:g} s") from error
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            # requests' own exceptions are OSErrors; a header or URL that can't be sent is a
            # ValueError; the body is read through urllib3 itself.
            raise UnreachableError(self._told(error)) from error

    def _told(self, error: BaseException) -> str:
        """Describe an error without what was sent: a header that can't be is quoted in it."""
        told = describe(error)
        for value in self.settings.headers.values():
            for line in filter(None, value.split()):
                told = told.replace(line, log.HIDDEN)
        return log.redacted(f"{told} ({_address(self.settings.url)})")

    @property
    def date(self) -> Instant | None:
        """When the server answered last, by its own clock in whole seconds; None = not known."""
        return self._session.date

    def close(self) -> None:
        """Close the kept connections; the next query opens a new one."""
        self._session.close()


def _address(url: str) -> str:
    """Give a URL without what may open the server: no user, password or parameters."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Accepted(requests.Response):
    """What PrometheusConnect unwraps: the checked answer in the place of the body's JSON."""

    def __init__(self, answer: Answer | Matrix) -> None:
        super().__init__()
        self.status_code = HTTPStatus.OK
        self._answer = answer

    def json(self, **_: Any) -> dict[str, dict[str, Answer | Matrix]]:  # noqa: ANN401 - as the parent has it
        """Give the answer where a parsed body would have its rows."""
        return {"data": {"result": self._answer}}


class _Authorization(AuthBase):
    """Set the token; being there keeps a .netrc file from setting something else."""

    def __init__(self, *, token: str, url: str) -> None:
        self._token = token
        self._basic = get_auth_from_url(url)
        log.hide(self._basic[1])

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        elif any(self._basic):
            HTTPBasicAuth(*self._basic)(request)
        return request


class _Session(requests.Session):
    """Bound and check every answer before PrometheusConnect sees it."""

    def __init__(self, settings: PrometheusSettings, *, body_limit: int) -> None:
        super().__init__()
        self.verify = settings.ca_file or True
        # A proxy's login cookie would outlive the token that it was given for.
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._token_file = settings.token_file
        self._limit = body_limit
        self.date: Instant | None = None
        """When the server answered last, by its own clock; None where it does not say."""
        self.decode: Callable[[bytearray], Answer | Matrix] = decode_answer
        """How the next answer's body is read."""

    def request(  # type: ignore[override] # narrowed to what PrometheusConnect passes
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str],
        timeout: float,
        headers: Mapping[str, str],
        **_: Any,  # noqa: ANN401 - auth, cert and verify: the session has its own
    ) -> requests.Response:
        """Send the parameters as a form: a long query fits no proxy's URL limit."""
        deadline = time.monotonic() + timeout
        token = self._token()
        for attempt in (1, 2):
            response = super().request(
                method,
                url,
                data=dict(params),
                headers=dict(headers),
                auth=_Authorization(token=token, url=url),
                timeout=timeout,
                verify=self.verify,  # said here, or REQUESTS_CA_BUNDLE would win
                allow_redirects=False,
                stream=True,
            )
            with response:
                newer = self._token() if _refused(response) else token
                if newer == token or attempt == 2:  # noqa: PLR2004 - the second and last
                    return _Accepted(self._accept(response, deadline=deadline))
            token = newer
        raise AssertionError("the second attempt returns or raises")

    def _token(self) -> str:
        """Read the token file anew: service account tokens rotate."""
        if not self._token_file:
            return ""
        try:
            token = Path(self._token_file).read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise UnreachableError(f"tokenFile: {describe(error)}") from error
        if not token:
            raise UnreachableError(f"tokenFile: {self._token_file} is empty")
        log.hide(token)
        return token

    def _accept(self, response: requests.Response, *, deadline: float) -> Answer | Matrix:
        status = response.status_code
        if response.is_redirect:
            host = urlsplit(response.headers["location"]).netloc or "the same host"
            raise UnreachableError(f"HTTP {status}: redirected to {host}, which is not followed")
        if status != HTTPStatus.OK:
            body = _read(response, limit=_ERROR_LIMIT, deadline=deadline, cut=True)
            raise _failure(status=status, body=body)
        self.date = _date(response.headers.get("date"))
        body = _read(response, limit=self._limit, deadline=deadline)
        try:
            return self.decode(body)
        except ForeignAnswerError as error:
            told = response.headers.get("content-type", "untyped")
            raise UnreachableError(f"{error} but {told}: a login page or a proxy?") from error


def _date(header: str | None) -> Instant | None:
    try:
        return None if header is None else parsedate_to_datetime(header).timestamp()
    except ValueError:
        return None


def _refused(response: requests.Response) -> bool:
    return response.status_code == HTTPStatus.UNAUTHORIZED


def _failure(*, status: int, body: bytearray) -> QueryFailedError:
    told = describe_error(status=status, body=body)
    if told.error_type == "timeout" or status == HTTPStatus.GATEWAY_TIMEOUT:
        return TimedOutError(told.sentence)
    if told.error_type:
        return QueryFailedError(told.sentence)
    return UnreachableError(told.sentence)


def _read(
    response: requests.Response, *, limit: int, deadline: float, cut: bool = False
) -> bytearray:
    """Read what comes, piece by piece: a server that drips must not outlast the time-out."""
    body = bytearray()
    while piece := response.raw.read1(_CHUNK, decode_content=True):
        body += piece
        if len(body) > limit and cut:
            break
        if len(body) > limit:
            raise QueryFailedError(f"the answer is larger than {limit} bytes and was not read")
        if time.monotonic() > deadline:
            raise requests.Timeout
    return body


class _WatchedFile:
    """Notice that a file was replaced, by what its name stands for now."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = self._identity()

    def replaced(self) -> bool:
        """Say whether the file is another one than at the last call."""
        before, self._seen = self._seen, self._identity()
        return before != self._seen

    def _identity(self) -> tuple[int, int, int] | None:
        try:
            stat = Path(self._path).stat() if self._path else None
        except OSError:
            return None
        return stat and (stat.st_ino, stat.st_mtime_ns, stat.st_size)
