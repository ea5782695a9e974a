"""Configure structlog: JSON for machines, a console line for a terminal; commands call it."""

import logging
import sys
from typing import TextIO

import structlog


def configure(*, verbose: bool = False, stream: TextIO | None = None) -> None:
    """Set up logging to a stream, else to standard error; JSON unless that is a terminal."""
    stream = stream or sys.stderr
    level = logging.DEBUG if verbose else logging.INFO
    terminal = stream.isatty()
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
