"""What a reader asked for: which page, which part of it, and how to link to another part."""

from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode

SPANS: Final = {"1h": 3600.0, "6h": 21600.0, "24h": 86400.0}
"""Seconds that charts reach back."""
ROWS: Final = 50
"""Of a table on one page."""
LONGEST_TEXT: Final = 200
"""Of a search."""
MOST_FIELDS: Final = 20
"""Of a query; those after them are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The parts of a URL that are understood; all others are ignored."""

    path: str = ""
    """Relative, so that the page also works behind a proxy's prefix; empty = the first page."""
    q: str = ""
    reason: str = ""
    signal: str = ""
    state: str = ""
    span: str = ""
    """One of SPANS; empty = as far back as there is something to see."""
    offset: int = 0
    id: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Give the words of the search: all of them must be there."""
        return tuple(self.q.lower().split())

    def href(self, path: str | None = None, **changes: str | int) -> str:
        """Link to this view with changes; another path begins with nothing else."""
        base = self if path is None else View(path=path)
        changed = replace(base, **changes)  # type: ignore[arg-type] # names and types are fields'
        asked = {
            one.name: value
            for one in fields(changed)
            if one.name != "path" and (value := getattr(changed, one.name))
        }
        return (changed.path or "./") + (f"?{urlencode(asked)}" if asked else "")


def read(path: str, query: str) -> View:
    """Read a URL's path and query; what can't be understood is left out."""
    first = "&".join(query.split("&", MOST_FIELDS)[:MOST_FIELDS])
    found = {name: text[:LONGEST_TEXT] for name, text in parse_qsl(first)}
    span = found.get("span", "")
    offset = found.get("offset", "")
    texts = ("q", "reason", "signal", "state", "id", "namespace", "name")
    return View(
        path=path.lstrip("/"),
        span=span if span in SPANS else "",
        offset=int(offset) if offset.isascii() and offset.isdecimal() else 0,
        **{name: found.get(name, "") for name in texts},
    )
