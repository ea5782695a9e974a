"""Configure structlog: JSON for machines, a console line for a terminal; commands call it.

What libraries log goes the same way, from warnings on. No line shows a secret: what was read as one
is hidden wherever it turns up, and so is whatever looks like one.
"""

import logging
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "***"
_SHORTEST = 6
"""Characters; shorter texts are words of other meaning too, and hidden by their place alone."""
_KEYS = re.compile(r"token|passw|secret|authorization|credential|cookie|api-?_?key", re.IGNORECASE)
_PLACES = (
    # Credentials of a URL. The last @ before the path ends them, as a password may hold one.
    (re.compile(r"(?<=://)[^/\s\"'<>]*@"), f"{HIDDEN}@"),
    (
        re.compile(r"(?i)\b(bearer|basic)(\s+)(?!auth\b|token\b)[A-Za-z0-9._~+/=-]{4,}"),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
    (
        re.compile(
            r"(?i)\b([\w-]*(?:password|passwd|token|secret|api[_-]?key))(['\"]?\s*[=:]\s*['\"]?)"
            r"(?!\*\*\*)[^\s'\",;&}]{4,}"
        ),
        rf"\1\2{HIDDEN}",
    ),
)
_HINTS = ("://", "bearer", "basic", "eyj", "passw", "token", "secret", "api")
"""One of these is in whatever _PLACES finds, in lower case: most texts have none."""
_MOST = 256
"""Secrets that are known at once: tokens rotate each hour, and old ones open nothing."""


class _Secrets:
    """What was read as a secret, shared by all threads.

    `_lock` guards `_known`. `longest_first` is replaced whole and read without it, since each value
    of each line asks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, None] = {}
        """The one that was named last comes last."""
        self.longest_first: tuple[str, ...] = ()
        """One may be a part of another."""

    def add(self, lines: Iterable[str]) -> None:
        """Know these too, and the oldest no more where there are too many."""
        with self._lock:
            for line in lines:
                self._known.pop(line, None)
                self._known[line] = None
            for old in tuple(self._known)[:-_MOST]:
                del self._known[old]
            self.longest_first = tuple(sorted(self._known, key=len, reverse=True))

    def clear(self) -> None:
        """Know none."""
        with self._lock:
            self._known.clear()
            self.longest_first = ()


_secrets = _Secrets()


def hide(secret: str) -> None:
    """Never show a text again that was read as a secret: a token, a password, a header's value."""
    # Line by line: where it can't be sent for a line break, it is quoted with that written out.
    _secrets.add(line for line in (secret, *secret.splitlines()) if len(line) >= _SHORTEST)


def forget() -> None:
    """Know no secret any more."""
    _secrets.clear()


def redacted(text: str) -> str:
    """Give a text with secrets hidden: those that are known, and what looks like one."""
    for secret in _secrets.longest_first:
        text = text.replace(secret, HIDDEN)
    lower = text.lower()
    if any(hint in lower for hint in _HINTS):
        for place, shown in _PLACES:
            text = place.sub(shown, text)
    return text


def configure(*, verbose: bool = False, stream: TextIO | None = None) -> None:
    """Set up logging to a stream, else to standard error; JSON unless that is a terminal."""
    stream = stream or sys.stderr
    shared: tuple[Processor, ...] = (
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact,
    )
    renderer = _renderer(terminal=stream.isatty())
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if verbose else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    _take_over(stream, shared, renderer)


def _renderer(*, terminal: bool) -> Processor:
    if terminal:
        plain = structlog.dev.plain_traceback
        return structlog.dev.ConsoleRenderer(exception_formatter=plain)
    return structlog.processors.JSONRenderer()


class _OfLibraries(logging.Handler):
    """Where the standard library's loggers write; to a stream that was closed nothing is."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        if not self._stream.closed:
            self._stream.write(f"{self.format(record)}\n")


def leave() -> None:
    """Let libraries' loggers write where they did before."""
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, _OfLibraries)]:
        root.removeHandler(old)


def _take_over(stream: TextIO, shared: tuple[Processor, ...], renderer: Processor) -> None:
    """Let libraries' warnings be lines like ours: else they are written past all of this."""
    root = logging.getLogger()
    leave()
    writer = _OfLibraries(stream)
    writer.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared[:-2],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *shared[-2:],
                renderer,
            ],
        )
    )
    root.addHandler(writer)


def _redact(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Hide secrets in every value of a line, however deep, and under every key that names one."""
    return {key: HIDDEN if _names_one(key) else _shown(value) for key, value in event.items()}


@lru_cache(maxsize=1024)
def _names_one(key: str) -> bool:
    return _KEYS.search(key) is not None


def _shown(value: object) -> object:
    match value:
        case str():
            return redacted(value)
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return {
                redacted(str(key)): HIDDEN if _names_one(str(key)) else _shown(item)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_shown(item) for item in value]
        case _:
            return redacted(str(value))
