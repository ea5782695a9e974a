"""Carry requests to the API server: paths in, bytes out.

The `kubernetes` package gives configuration, authentication and TLS; nothing else of it is used.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlencode

import msgspec
import urllib3
from kubernetes.client.rest import RESTClientObject
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

from scaler import __version__
from scaler.kube.api import JSON, ApiError, NoAnswerError, Stream, TimeOuts
from scaler.kube.credentials import Credentials

_UNAUTHORIZED = 401
_ERRORS_FROM = 400
_CHUNK = 65536
_LONGEST_LINE = 64 * 1024 * 1024
_CONNECTIONS = 32
"""Kept open: one watch for each kind, and some calls beside them."""


class _Status(msgspec.Struct):
    message: str = ""


class ApiServer:
    """The API server of one cluster, over pooled connections; good for many threads."""

    def __init__(self, credentials: Credentials, *, time_outs: TimeOuts | None = None) -> None:
        """Take the way in; nothing is sent yet."""
        self._credentials = credentials
        self._time_outs = time_outs or TimeOuts()
        configuration = credentials.configuration
        configuration.connection_pool_maxsize = _CONNECTIONS
        self._origin = str(configuration.host).rstrip("/")
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Give the whole answer to a GET."""
        url = f"{path}?{urlencode(params)}" if params else path
        return self._whole(self._ask("GET", url, accept=accept, read_timeout=self._time_outs.read))

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Open a GET whose lines are read while they come."""
        url = f"{path}?{urlencode(params)}"
        return _Lines(self._ask("GET", url, accept=accept, read_timeout=read_timeout))

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Write an object."""
        return self._whole(
            self._ask(
                method,
                path,
                accept=JSON,
                read_timeout=self._time_outs.read,
                body=body,
                content_type=content_type,
            )
        )

    def close(self) -> None:
        """Close idle connections."""
        self._pool.clear()

    def _ask(
        self,
        method: str,
        url: str,
        *,
        accept: str,
        read_timeout: float,
        body: bytes | None = None,
        content_type: str | None = None,
    ) -> BaseHTTPResponse:
        """Send, and once more with fresh credentials when the first ones were refused."""
        headers = {"accept": accept, "user-agent": f"kueue-gpu-scaler/{__version__}"}
        if content_type is not None:
            headers["content-type"] = content_type
        timeout = urllib3.Timeout(connect=self._time_outs.connect, read=read_timeout)
        used = self._credentials.header()
        answer = self._send(method, url, headers | used, body, timeout)
        if answer.status == _UNAUTHORIZED:
            _discard(answer)
            fresh = self._credentials.renew(refused=used)
            answer = self._send(method, url, headers | fresh, body, timeout)
        if answer.status >= _ERRORS_FROM:
            raise _refusal(answer)
        return answer

    def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
        timeout: urllib3.Timeout,
    ) -> BaseHTTPResponse:
        try:
            return self._pool.request(
                method,
                self._origin + url,
                headers=headers,
                body=body,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, OSError) as error:
            raise _no_answer(error) from error
        except ValueError:
            # A header that can't be sent is quoted in the error, and it is the token's.
            message = "the token or password can't be sent: it must be one line of ASCII"
            raise NoAnswerError(message) from None

    def _whole(self, answer: BaseHTTPResponse) -> bytes:
        try:
            return answer.data
        except (HTTPError, OSError) as error:
            _discard(answer)
            raise _no_answer(error) from error


class _Lines:
    """A response cut into lines."""

    def __init__(self, answer: BaseHTTPResponse) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        try:
            while chunk := self._answer.read1(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from filter(None, lines)
                if len(rest) > _LONGEST_LINE:
                    raise NoAnswerError("a line of a watch does not end")
        except (HTTPError, OSError, ValueError) as error:
            # ValueError: what a TLS socket says once another thread has shut it down.
            raise _no_answer(error) from error
        finally:
            _discard(self._answer)
        if rest:
            yield rest

    def close(self) -> None:
        # Closing alone does not wake a thread that waits in recv; shutting the socket down does.
        with suppress(ValueError, RuntimeError, OSError, HTTPError):
            self._answer.shutdown()


def _discard(answer: BaseHTTPResponse) -> None:
    with suppress(HTTPError, OSError):
        answer.close()


def _no_answer(error: Exception) -> NoAnswerError:
    silent = isinstance(error, ReadTimeoutError | TimeoutError)
    return NoAnswerError(str(error) or type(error).__name__, silent=silent)


def _refusal(answer: BaseHTTPResponse) -> ApiError:
    try:
        body = answer.data
    except (HTTPError, OSError):
        body = b""
    try:
        said = msgspec.json.decode(body, type=_Status).message
    except (ValueError, RecursionError):
        said = body[:200].decode("utf-8", "replace")
    reason = said or answer.reason or "no reason given"
    return ApiError(answer.status, reason, retry_after=_seconds(answer.headers))


def _seconds(headers: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(headers.get("retry-after", "0")))
    except ValueError:
        return 0.0
