"""Ways in which an API server or Prometheus fails, each a switch."""

from dataclasses import dataclass, field
from enum import StrEnum


class Gone(StrEnum):
    """How a watch is told that its version is too old; both are seen in the field."""

    NEVER = "never"
    IN_STREAM = "in stream"
    """HTTP 200, then an ERROR event with code 410."""
    AS_STATUS = "as status"
    """HTTP 410."""


@dataclass(slots=True, kw_only=True)
class Faults:
    """What is broken now; tests and the demo write to it while the server runs."""

    down: bool = False
    """Connections end without an answer, open watches too."""
    forbidden: set[str] = field(default_factory=set)
    """Plurals that are answered with 403."""
    unwritable: set[str] = field(default_factory=set)
    """Plurals that may be read, and whose writes are answered with 403, but for their status."""
    gone: Gone = Gone.NEVER
    """Every watch that starts from a version, for as long as it is set."""
    silent: bool = False
    """Watches stay open and say nothing, not even bookmarks."""
    list_delay: float = 0.0
    """Wall seconds before a list is answered."""
    hollow: set[str] = field(default_factory=set)
    """Plurals whose watches are answered 200, and closed with nothing in them."""
    said: dict[str, bytes] = field(default_factory=dict)
    """By plural: a line that the next watch says at once, as it is, whatever it is."""
    expired: dict[str, int] = field(default_factory=dict)
    """By plural: how many pages beyond a list's first are still to be answered with 410."""

    def expires(self, plural: str) -> bool:
        """Say whether a further page is to be answered with 410, and count it."""
        left = self.expired.get(plural, 0)
        self.expired[plural] = max(0, left - 1)
        return left > 0
