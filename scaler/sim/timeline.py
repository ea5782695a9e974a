"""The demo's lines on the terminal, and what it does when a step did not happen."""

import json
import textwrap
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from scaler.core.model import Name
from scaler.sim.clock import Clock
from scaler.sim.patches import Document

INDENT = 20
"""Columns before a line's text."""
COLORS = {
    "decision": "36",
    "check": "32",
    "kueue": "33",
    "prometheus": "35",
    "keda": "34",
    "event": "31",
    "actuator": "95",
}


class StepFailedError(Exception):
    """A step did not happen: which, what was expected, what was seen instead."""

    def __init__(self, *, step: str, expected: str, seen: str) -> None:
        super().__init__(f"step {step!r} did not happen\n  expected: {expected}\n  seen: {seen}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A decision as the status port shows it."""

    status: str
    value: int | None
    active: bool | None
    reason: str
    detail: str

    def __str__(self) -> str:
        if self.status != "OK":
            return self.status
        return f"{'active' if self.active else 'inactive'}, value {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Print one line for each thing that happened, with the cluster's time since the start."""

    out: TextIO
    clock: Clock
    start: float
    colored: bool = False
    width: int | None = None
    """Columns of the terminal; None = lines are not broken."""

    def say(self, who: str, text: str) -> None:
        """Print one line."""
        seconds = int(self.clock.now() - self.start)
        word = who.ljust(12)
        if self.colored:
            word = f"\x1b[{COLORS.get(who, '1')}m{word}\x1b[0m"
        time = f"{seconds // 60:02d}:{seconds % 60:02d}"
        print(f"{time}  {word} {self._broken(text)}", file=self.out, flush=True)

    def _broken(self, text: str) -> str:
        if self.width is None:
            return text
        lines = textwrap.wrap(text, max(20, self.width - INDENT), break_on_hyphens=False)
        return ("\n" + " " * INDENT).join(lines)

    def title(self, text: str) -> None:
        """Print what the next step is about."""
        print(f"\n{text}", file=self.out, flush=True)


def wait(
    clock: Clock, reached: Callable[[], bool], *, within: float, look: Callable[[], None]
) -> bool:
    """Look again and again until something is true; False after so many cluster seconds."""
    ends = clock.now() + within
    while True:
        look()
        if reached():
            return True
        now = clock.now()
        if now >= ends or not clock.sleep_until(now + 3):
            return False


def decisions(status_url: str) -> dict[Name, Said]:
    """Read /decisions; nothing while the port doesn't answer."""
    try:
        with urllib.request.urlopen(f"{status_url}/decisions", timeout=5) as answer:  # noqa: S310 - our own port
            shown: Sequence[Document] = json.load(answer)["decisions"]
    except (OSError, ValueError):
        return {}
    return {
        (d["namespace"], d["name"]): Said(
            status=d["status"],
            value=d["value"],
            active=d["active"],
            reason=d["reason"],
            detail=d["evidence"]["detail"],
        )
        for d in shown
    }


def ready(status_url: str) -> bool:
    """Say whether the service calls itself ready."""
    try:
        with urllib.request.urlopen(f"{status_url}/readyz", timeout=5) as answer:  # noqa: S310 - our own port
            return bool(answer.status == 200)  # noqa: PLR2004 - HTTP's OK
    except OSError:
        return False
