"""Write deploy/grafana/*.json, or compare it.

Usage: python -m dashboards [--check]

Exits 1 where --check finds a difference.
"""

import argparse
import sys
from pathlib import Path

from dashboards.decisions import DECISIONS
from dashboards.money import MONEY
from dashboards.queues import QUEUES
from dashboards.render import rendered
from dashboards.use import USE

FOLDER = Path(__file__).parents[1] / "deploy" / "grafana"
BOARDS = (USE, QUEUES, DECISIONS, MONEY)


def generated() -> dict[Path, str]:
    """Give the text of every dashboard by its file."""
    return {FOLDER / f"{board.uid}.json": rendered(board) for board in BOARDS}


def main() -> int:
    """Write the files, or with --check compare them; give the exit code."""
    parser = argparse.ArgumentParser(description="Write deploy/grafana/*.json")
    parser.add_argument("--check", action="store_true", help="only compare; 1 on a difference")
    fresh = generated()
    if not parser.parse_args().check:
        for path, text in fresh.items():
            path.write_text(text)
        return 0
    differing = [path.name for path, text in fresh.items() if read(path) != text]
    left_over = [path.name for path in FOLDER.glob("*.json") if path not in fresh]
    for name in differing + left_over:
        sys.stderr.write(f"deploy/grafana/{name} is not what dashboards/ gives: make dashboards\n")
    return int(bool(differing or left_over))


def read(path: Path) -> str:
    """Give a file's text; "" where it is not there."""
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
