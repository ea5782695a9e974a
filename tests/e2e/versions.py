"""Play all scenarios with other versions too, and write docs/compatibility.md from what came out.

Usage: python -m tests.e2e.versions [--resume]

Takes about an hour and a half on two cores with built programs. Scenarios that speak of KEDA's
newest version alone are left out with older ones; what must never happen is repeated with the
newest. What was played is kept in .build/versions/; with --resume a run that was cut off plays
only what is missing there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tests.e2e.builds import KUBERNETES_VERSION, NEWEST_KEDA
from tests.e2e.play import Line
from tests.e2e.scenarios import SCENARIOS, contract
from tests.golang import BUILT, ROOT
from tests.report import say

PAGE = ROOT / "docs" / "compatibility.md"
KEPT = BUILT / "versions"
"""Lines by version, as JSON."""
NEWEST_ONLY = ("F0c",)
"""KEDA's race came with 2.20 or later, so that older versions need not show it."""
CONTRACT = tuple(each.id for each in contract.SCENARIOS)
"""What KEDA does; whichever Kueue is beside it."""
REPEATED = ("G5", "F0", "F8")
TIMES = 3
HEAD = """# What works with which version

Filled from runs of the scenarios of [tests/e2e](../tests/e2e), with each version as a real program
on Kubernetes {kubernetes}; an empty cell was not played. `make e2e-all` plays all and writes
this page anew. The rows `C..` are not about this service: they are what KEDA does with a scaler's
answers, held against KEDA {newest}. A *no* there is a difference of KEDA that the service does not
depend on as long as the other rows of that version say *yes*.

"""


class CutOffError(Exception):
    """A run was interrupted; `lines` are those that it still told."""

    def __init__(self, lines: list[Line]) -> None:
        """Keep them."""
        super().__init__("interrupted")
        self.lines = lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One stack to play with."""

    name: str
    arguments: tuple[str, ...] = ()
    left_out: tuple[str, ...] = NEWEST_ONLY


VARIANTS = (
    Variant(name="KEDA 2.21", left_out=()),
    Variant(name="KEDA 2.20", arguments=("--keda=2.20",)),
    Variant(name="KEDA 2.16", arguments=("--keda=2.16",)),
    Variant(
        name="Kueue v1beta1",
        arguments=("--older-kueue",),
        left_out=(*NEWEST_ONLY, *CONTRACT),
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Play with each version and write the page; 1 where the newest failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--resume", action="store_true", help="play only what is still missing")
    resume = parser.parse_args(arguments).resume
    found = {each.name: lines_of(each, kept=KEPT, resume=resume, ran=_ran) for each in VARIANTS}
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found), encoding="utf-8")
    say(f"written: {PAGE.relative_to(ROOT)}")
    repeats = [_ran(REPEATED) for _ in range(TIMES)]
    newest = found[VARIANTS[0].name]
    return int(not newest or not all(line["ok"] for line in [*newest, *chain(*repeats)]))


def lines_of(
    variant: Variant, *, kept: Path, resume: bool, ran: Callable[[Sequence[str]], list[Line]]
) -> list[Line]:
    """Play a variant's scenarios, or those of them that are not kept yet, and keep the lines.

    Raises:
        KeyboardInterrupt: after what was played till then has been kept.
    """
    say(f"\n=== {variant.name}")
    file = kept / f"{variant.name}.json"
    before: list[Line] = json.loads(file.read_text()) if resume and file.exists() else []
    played = {line["id"] for line in before}
    ids = [each.id for each in SCENARIOS if each.id not in played | set(variant.left_out)]
    kept.mkdir(parents=True, exist_ok=True)
    try:
        lines = [*before, *(ran([*variant.arguments, *ids]) if ids else [])]
    except CutOffError as cut:
        file.write_text(json.dumps([*before, *cut.lines], indent=1))
        raise KeyboardInterrupt from cut
    file.write_text(json.dumps(lines, indent=1))
    return lines


def _ran(arguments: Sequence[str]) -> list[Line]:
    """Run the scenarios in a process of their own and give its lines.

    Raises:
        CutOffError: Ctrl-C, which the process hears too: it is waited for while it cleans up.
    """
    cut = False
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "tests.e2e.run", f"--results={results}", *arguments]
        with subprocess.Popen(command, cwd=ROOT) as process:
            while process.poll() is None:
                try:
                    process.wait()
                except KeyboardInterrupt:
                    cut = True
        lines: list[Line] = json.loads(results.read_text()) if results.exists() else []
    if cut:
        raise CutOffError(lines)
    return lines


def page(found: Mapping[str, Sequence[Line]]) -> str:
    """Write the table, and below it what was found where the answer is no."""
    by_name = {name: {line["id"]: line for line in lines} for name, lines in found.items()}
    rows = [
        f"| {each.id} | {each.title} | "
        + " | ".join(_cell(lines.get(each.id)) for lines in by_name.values())
        + " |"
        for each in SCENARIOS
    ]
    table = ["| | scenario | " + " | ".join(by_name) + " |", "|---" * (len(by_name) + 2) + "|"]
    text = HEAD.format(kubernetes=KUBERNETES_VERSION, newest=NEWEST_KEDA)
    return text + "\n".join([*table, *rows, "", *_differences(by_name)]) + "\n"


def _cell(line: Line | None) -> str:
    if line is None:
        return ""
    return "yes" if line["ok"] else "**no**"


def _differences(by_name: Mapping[str, Mapping[str, Line]]) -> list[str]:
    told = []
    for name, lines in by_name.items():
        wrong = [line for line in lines.values() if not line["ok"]]
        if wrong:
            told += [f"## {name}", ""]
            told += [f"- {line['id']}: {_sentence(line['said'])}" for line in wrong]
            told.append("")
    return told


def _sentence(said: str) -> str:
    return " ".join(said.split())[:300].replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
