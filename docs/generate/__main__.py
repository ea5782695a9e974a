"""Write docs/reference anew, or check that it is what the code gives."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from docs.generate.commands import commands_page
from docs.generate.keys import metadata_page
from docs.generate.metrics import metrics_page
from docs.generate.policy import policy_page
from docs.generate.words import reasons_page

FOLDER = Path(__file__).resolve().parent.parent / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "metadata.md": metadata_page,
    "policy.md": policy_page,
    "metrics.md": metrics_page,
    "reasons.md": reasons_page,
    "commands.md": commands_page,
}


def stale() -> list[str]:
    """Name the pages that differ from what the code gives."""
    return [name for name, write in PAGES.items() if _read(FOLDER / name) != write()]


def generate() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments: Sequence[str]) -> int:
    """Generate, or with --check compare; 1 where a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, name stale pages")
    if not parser.parse_args(arguments).check:
        generate()
        return 0
    found = stale()
    for name in found:
        sys.stderr.write(f"docs/reference/{name} is not what the code gives: make reference\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
