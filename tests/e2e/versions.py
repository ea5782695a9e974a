"""Play all scenarios with other versions too, and write docs/compatibility.md from what came out.

Usage: python -m tests.e2e.versions [--resume]

Takes about an hour and a half on two cores with built programs. Scenarios that speak of KEDA's
newest version alone are left out with older ones; what must never happen is repeated with the
newest. What was played is kept in .build/versions/; with --resume a run that was cut off plays
only what is missing there.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.builds import KUBERNETES_VERSION, NEWEST_KEDA
from tests.e2e.play import Line, write_lines
from tests.e2e.scenarios import SCENARIOS, contract
from tests.ending import end_in_order, run_in_order
from tests.golang import BUILT, ROOT
from tests.report import say

PAGE = ROOT / "docs" / "compatibility.md"
KEPT = BUILT / "versions"
"""Lines by version, as JSON."""
NEWEST_ONLY = ("F0c", "D1", "W1")
"""KEDA's race came with 2.20 or later; documents and dashboards are for the newest versions."""
CONTRACT = tuple(each.id for each in contract.SCENARIOS)
"""What KEDA does; whichever Kueue is beside it."""
AREAS = "GIFHUVTDWXC"
"""First letters of ids, in the page's order."""
REPEATED = ("G5", "F0", "F8")
TIMES = 3
HEAD = """# What works with which version

Filled from runs of the scenarios of [tests/e2e](../tests/e2e), with each version as a real program
on Kubernetes {kubernetes}. `make e2e-all` plays all and writes this page anew; an empty cell was
not played. Versions between two columns were not played at all.

- **G** node pools grow, **I** idle targets go to zero and back, **F** faults, **H** holding, **U**
  two replicas, **V** rights: what this service promises. A *no* in these rows is told below.
- **T** TLS between KEDA and the service, while certificates change.
- **D** the documents' objects and commands, **W** the dashboards' queries: with the newest versions
  alone.
- **C** is not about this service: what KEDA does with a scaler's answers, held against KEDA
  {newest}. A *no* is a difference of that KEDA, told in the words of the check that found it.
- Column *Kueue v1beta1*: the newest KEDA and Kueue, but our service is shown `v1beta1` objects
  alone.
- KEDA 2.16 can't set the HPA's `tolerance` (G6): a pool of 20 nodes does not get its 21st until
  more are needed, and the service says so (`Swallowed`). Older KEDA comes back to a push stream
  later after a restart (F10, C34): until then it polls.

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
    end_in_order()
    if not resume:
        forget(KEPT)
    found = {each.name: lines_of(each, kept=KEPT, resume=resume, ran=_ran) for each in VARIANTS}
    if empty := [name for name, lines in found.items() if not lines]:
        say(f"nothing was played with {', '.join(empty)}: {PAGE.relative_to(ROOT)} stays as it was")
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found), encoding="utf-8")
    say(f"written: {PAGE.relative_to(ROOT)}")
    try:
        repeats = [_ran(REPEATED) for _ in range(TIMES)]
    except CutOffError:
        raise KeyboardInterrupt from None
    newest = found[VARIANTS[0].name]
    fine = all_ok(newest, [each.id for each in SCENARIOS])
    return int(not fine or not all(all_ok(lines, REPEATED) for lines in repeats))


def all_ok(lines: Sequence[Line], ids: Sequence[str]) -> bool:
    """Say whether each of these scenarios was played, and whatever was played is right."""
    return {line["id"] for line in lines} >= set(ids) and all(line["ok"] for line in lines)


def forget(kept: Path) -> None:
    """Drop what earlier runs kept: a run that is cut off must not go on with their lines."""
    for file in kept.glob("*.json"):
        file.unlink()


def lines_of(
    variant: Variant, *, kept: Path, resume: bool, ran: Callable[[Sequence[str]], list[Line]]
) -> list[Line]:
    """Play a variant's scenarios, or those of them that are not kept yet, and keep the lines.

    Raises:
        KeyboardInterrupt: after what was played till then has been kept.
    """
    file = kept / f"{variant.name}.json"
    before = _kept_in(file) if resume else []
    played = {line["id"] for line in before}
    ids = [each.id for each in SCENARIOS if each.id not in played | set(variant.left_out)]
    say(f"\n=== {variant.name}: {len(before)} kept, {len(ids)} to play")
    kept.mkdir(parents=True, exist_ok=True)
    try:
        lines = [*before, *(ran([*variant.arguments, *ids]) if ids else [])]
    except CutOffError as cut:
        write_lines(file, [*before, *cut.lines])
        say(f"{len(before) + len(cut.lines)} of {variant.name} are kept; go on with --resume")
        raise KeyboardInterrupt from None
    write_lines(file, lines)
    return lines


def _kept_in(file: Path) -> list[Line]:
    """Give the lines of scenarios that there are still; none where they can't be read."""
    known = {each.id for each in SCENARIOS}
    try:
        lines: list[Line] = json.loads(file.read_text())
        return [
            line for line in lines if Line.__required_keys__ <= line.keys() and line["id"] in known
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, AttributeError) as error:
        say(f"{file} can't be read, so all is played: {error}")
        return []


def _ran(arguments: Sequence[str]) -> list[Line]:
    """Run the scenarios in a process of their own and give its lines.

    Raises:
        CutOffError: Ctrl-C or SIGTERM; the process is told too, and waited for while it cleans up.
    """
    cut = False
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "tests.e2e.run", f"--results={results}", *arguments]
        try:
            run_in_order(command, folder=ROOT)
        except KeyboardInterrupt:
            cut = True
        lines = _kept_in(results)
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
        for each in sorted(SCENARIOS, key=lambda one: _place(one.id))
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
        wrong = [lines[name] for name in sorted(lines, key=_place) if not lines[name]["ok"]]
        if wrong:
            told += [f"## {name}", ""]
            told += [f"- {line['id']}: {_sentence(line['said'])}" for line in wrong]
            told.append("")
    return told


def _place(scenario: str) -> tuple[int, int, str]:
    """Order scenarios by what they are about, then by number."""
    number = "".join(each for each in scenario[1:] if each.isdigit())
    return (AREAS.index(scenario[0]), int(number), scenario)


def _sentence(said: str) -> str:
    return " ".join(said.split())[:300].replace("|", "\\|")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
