"""Say in one sentence why a server could not be asked; never what was sent to it."""

import ssl
from collections.abc import Iterator

import requests


def describe(error: BaseException) -> str:
    """Describe a transport error by its cause.

    The texts of requests and urllib3 name objects and addresses in memory, which differ on each
    try; the cause's own words don't.
    """
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return f"TLS: {_tls(cause)}"
    if isinstance(error, requests.exceptions.ProxyError):
        return f"proxy: {_words(causes[-1])}"
    return _words(causes[-1])


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk from an error to its first cause, through urllib3's `reason` too."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = _cause(current)


def _cause(error: BaseException) -> BaseException | None:
    inner = getattr(error, "reason", None) or next(
        (part for part in error.args if isinstance(part, BaseException)), None
    )
    if isinstance(inner, BaseException):
        return inner
    return error.__cause__ or error.__context__


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate was refused: {error.verify_message}"
    return str(error.reason or error)


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{name}"
    return str(error) or type(error).__name__
