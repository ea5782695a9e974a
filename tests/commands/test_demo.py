"""`demo` runs the real service against the embedded cluster, from the first step to the last."""

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

from scaler.commands import demo


def _arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    demo.add_parser(parser.add_subparsers())
    return parser.parse_args(["demo", *given])


def test_demo(tmp_path: Path) -> None:
    """Every step happens, and the demo ends by itself where there is no terminal."""
    out = io.StringIO()
    arguments = _arguments("--speed", "24", "--log", str(tmp_path / "serve.log"))
    assert demo.run(arguments, out) == 0
    said = out.getvalue()
    assert said.rstrip().endswith("Every step happened.")
    assert "Status page, live: http://127.0.0.1:" in said
    assert "TopologyPlacementFailed" in said
    assert "QuotaExhausted" in said
    assert "HOLD, PrometheusFailed" in said
    assert _in_order(said, THROUGH_A_HOLD)


THROUGH_A_HOLD = (
    "ok: the WorkerScale has the workers' present size",
    "before: Workload raycluster-sim-",
    "scale        WorkerScale sim-workers is scaled to 0",
    "actuator     team-robots/sim-workers: Held, Idle: ",
    "during: Workload raycluster-sim-",
    "ok: same Workload, same admission, same quota",
    "ok: render runs on the freed node",
    "ok: held pods are no demand, and the hold lasts",
    "keda         MachineSet h100 is scaled to 2",
    "ok: the workers are back, on a new node",
    "after: Workload raycluster-sim-",
    "ok: same Workload, same admission, same quota",
    "actuator     team-video/tune-workers: Refused, KindNotHoldable: ",
)


def _in_order(said: str, wanted: Sequence[str]) -> bool:
    """Say whether texts are there one after the other."""
    for text in wanted:
        before, found, said = said.partition(text)
        assert found, f"{text!r} is not after {before[:80]!r}"
    return True
