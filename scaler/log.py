"""Configure structlog: JSON for machines, a console line for a terminal; commands call it.

What libraries log goes the same way, from warnings on. No line shows a secret: what was read as one
is hidden wherever it turns up, and so is whatever looks like one.
"""

import logging
import re
import sys
import threading
from collections.abc import Mapping
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
_MOST = 256
"""Secrets that are known at once: tokens rotate each hour, and old ones open nothing."""
_secrets: dict[str, None] = {}
_lock = threading.Lock()


def hide(secret: str) -> None:
    """Never show a text again that was read as a secret: a token, a password, a header's value."""
    # Line by line: where it can't be sent for a line break, it is quoted with that written out.
    lines = [line for line in (secret, *secret.splitlines()) if len(line) >= _SHORTEST]
    with _lock:
        for line in lines:
            _secrets.pop(line, None)
            _secrets[line] = None
        for old in tuple(_secrets)[:-_MOST]:
            del _secrets[old]


def redacted(text: str) -> str:
    """Give a text with secrets hidden: those that are known, and what looks like one."""
    with _lock:
        known = tuple(_secrets)
    for secret in sorted(known, key=len, reverse=True):  # one may be a part of another
        text = text.replace(secret, HIDDEN)
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
    return {key: HIDDEN if _KEYS.search(key) else _shown(value) for key, value in event.items()}


def _shown(value: object) -> object:
    match value:
        case str():
            return redacted(value)
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return {
                redacted(str(key)): HIDDEN if _KEYS.search(str(key)) else _shown(item)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_shown(item) for item in value]
        case _:
            return redacted(str(value))
