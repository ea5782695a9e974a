"""Small parts of Markdown pages."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Written by `make reference`. Change the code, not this page. -->"


def page(title: str, about: str, *parts: str) -> str:
    """Give a page: title, what one finds on it, its parts."""
    return "\n\n".join((NOTE, f"# {title}", about, *(part.strip("\n") for part in parts))) + "\n"


def section(title: str, *parts: str, level: int = 2) -> str:
    """Give a section."""
    return "\n\n".join((f"{'#' * level} {title}", *(part.strip("\n") for part in parts)))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table; a bar within a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: object) -> str:
    """Give a code span; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop, on one line."""
    words = " ".join(text.split())
    ended = words if words.endswith((".", ":", "?")) else f"{words}."
    return ended[:1].upper() + ended[1:]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
