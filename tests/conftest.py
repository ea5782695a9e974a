"""What every test has: plain logs, and no thread or log configuration left behind by another."""

import sys
import threading
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from scaler import log

PATIENCE = 10.0

settings.register_profile("house", deadline=None)  # nothing is timed: machines are shared
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _plain_logs() -> Iterator[None]:
    """Write logs without colors or locals, and forget what a test configured or hid.

    What one hid may be a word of another: it would be missing from that one's lines.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    yield
    structlog.reset_defaults()
    log.leave()
    log.forget()


@pytest.fixture(autouse=True)
def _no_thread_outlives_its_test() -> Iterator[None]:
    """Fail a test that leaves a thread which would keep a process alive."""
    before = set(threading.enumerate())
    yield
    new = [t for t in threading.enumerate() if t not in before and not t.daemon]
    for thread in new:
        thread.join(PATIENCE)  # gRPC's threads end a moment after their server has
    assert [thread for thread in new if thread.is_alive()] == []
