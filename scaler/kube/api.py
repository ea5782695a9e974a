"""What is asked of the API server, whatever carries it; imports no client."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class ApiError(Exception):
    """The API server refused."""

    def __init__(self, status: int, message: str, *, retry_after: float = 0.0) -> None:
        """Keep the HTTP status, the server's sentence and its Retry-After in seconds."""
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after


class NoAnswerError(Exception):
    """No whole answer came: unreachable, broken off, or silent."""

    def __init__(self, message: str, *, silent: bool = False) -> None:
        """Keep what happened; `silent` when a read time-out ended the wait."""
        super().__init__(message)
        self.silent = silent


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOuts:
    """Longest waits of one request, in seconds."""

    connect: float = 5.0
    read: float = 30.0
    """Between two reads of an answer."""


class Stream(Protocol):
    """Lines that come in over time; a last one that was cut off comes as it is."""

    def __iter__(self) -> Iterator[bytes]:
        """Give line by line.

        Raises:
            NoAnswerError: broken off, or silent for longer than the read time-out.
        """
        ...

    def close(self) -> None:
        """End it, from any thread: whoever waits for a line wakes up."""
        ...


class Api(Protocol):
    """What is asked of the API server; all of it raises ApiError or NoAnswerError."""

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Give the whole answer."""
        ...

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Open a watch."""
        ...

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Write (POST, PATCH)."""
        ...
