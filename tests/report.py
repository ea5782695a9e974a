"""One line a check, and the sum at the end."""

import os
import sys
from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Count the checks of all parts, and print each as it comes."""

    title: str
    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)

    def part(self, title: str) -> None:
        """Begin a part."""
        say(f"\n== {title}")

    def check(self, what: str, *, ok: bool, found: object = "", measured: str = "") -> bool:
        """Print and count one check; what was found is shown where it failed."""
        self.passed += ok
        self.failed += not ok
        shown = f" ({measured})" if measured else ""
        say(f"{'ok  ' if ok else 'FAIL'} {what}{shown}" + ("" if ok else f"; found: {found}"))
        return ok

    def skip(self, what: str, *, why: str) -> None:
        """Print and keep what could not be tried."""
        self.skipped.append(what)
        say(f"skip {what}: {why}")

    def exit_code(self) -> int:
        """Print the sum; 1 where a check failed, and in CI where a part was skipped."""
        counts = f"{self.passed} passed, {self.failed} failed, {len(self.skipped)} skipped"
        say(f"\n{self.title}: {counts}")
        if self.skipped and in_ci():
            say("In CI nothing may be skipped.")
        return int(self.failed > 0 or (in_ci() and bool(self.skipped)))


def in_ci() -> bool:
    """Say whether this run decides about a change."""
    return os.environ.get("CI", "").lower() == "true"


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
