"""Read the fenced blocks of the Markdown pages, and the marks that say how each is tried."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("README.md", "benchmarks/*.md", "deploy/**/*.md", "docs/**/*.md")
"""Where pages are."""
COMMANDS, OBJECTS = "sh", "yaml"
SHOWN = frozenset({"text", "json", "promql"})
"""Languages of blocks that are only read."""
PROGRAMS = ("kubectl ", "kueue-gpu-scaler ", "curl ", "make ", "helm ", "docker ", "oc ")
"""What a line of commands begins with: as mere text they would be tried by nobody."""
MARKS: Mapping[str, frozenset[str]] = {
    COMMANDS: frozenset({"cluster", "dry-run", "peers", "background", "exit", "not-run"}),
    OBJECTS: frozenset({"file", "warns", "not-checked"}),
}
"""By language; docs/README.md says what each means."""
REASONED = frozenset({"not-run", "not-checked"})
"""Marks that say why, since nothing is tried."""
VALUED = REASONED | {"exit", "file", "warns"}

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    page: str
    """Relative to the project."""
    line: int
    """Of its opening fence, from 1."""
    language: str
    marks: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def place(self) -> str:
        """Name where it is, as editors open it."""
        return f"{self.page}:{self.line}"

    @property
    def problems(self) -> tuple[str, ...]:
        """Say what is wrong with its first line."""
        return tuple(_problems(self))


def pages() -> tuple[str, ...]:
    """Give every page."""
    found = {path for source in SOURCES for path in ROOT.glob(source)}
    return tuple(sorted(str(path.relative_to(ROOT)) for path in found))


def blocks_of(page: str) -> tuple[Block, ...]:
    """Give the blocks of a page, in their order."""
    return tuple(read_blocks(page, (ROOT / page).read_text(encoding="utf-8")))


def read_blocks(page: str, text: str) -> Iterator[Block]:
    """Read blocks out of a page's text.

    Raises:
        ValueError: the last one has no end.
    """
    opened, began, inside = None, 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is None:
            opened, began, inside = fence, number, []
        elif fence and not fence["info"].strip() and fence["ticks"].startswith(opened["ticks"]):
            yield _block(page, began, opened["info"], inside)
            opened = None
        else:
            inside.append(line.removeprefix(opened["indent"]))
    if opened is not None:
        raise ValueError(f"{page}:{began}: the block has no end")


def _block(page: str, line: int, info: str, inside: list[str]) -> Block:
    language, _, rest = info.strip().partition(" ")
    marks = dict[str, str]()
    reasoned = rest.strip().startswith(tuple(f"{mark}:" for mark in REASONED))
    parts = [rest] if reasoned else rest.split(";")  # a reason is a sentence, to the line's end
    for each in filter(None, (part.strip() for part in parts)):
        name, _, value = each.partition(":")
        marks[name.strip()] = value.strip()
    text = "".join(f"{each}\n" for each in inside)
    return Block(page=page, line=line, language=language, marks=marks, text=text)


def _is_command(line: str) -> bool:
    return line.lstrip("$ ").startswith(PROGRAMS)


def _problems(block: Block) -> Iterator[str]:
    known = MARKS.get(block.language)
    if known is None:
        if block.language in SHOWN and any(map(_is_command, block.text.splitlines())):
            yield f"commands in a block of {block.language}: begin it with {COMMANDS}"
        if block.language not in SHOWN:
            yield f"language {block.language!r}; there are {', '.join(sorted({*MARKS, *SHOWN}))}"
        return
    for mark, value in block.marks.items():
        if mark not in known:
            yield f"mark {mark!r}; a block of {block.language} has {', '.join(sorted(known))}"
        elif mark in VALUED and not value:
            yield f"mark {mark!r} needs words: `{mark}: ...`"
    if REASONED & block.marks.keys() and len(block.marks) > 1:
        yield "what is not tried has no other mark"
