"""A Plan is told in words that a team lead understands."""

from dataclasses import replace

import pytest

from scaler.core.hold.status import with_forbidden
from scaler.core.hold.steps import (
    DropMark,
    SetActive,
    SetFinalizer,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.hold.words import Cause, State
from scaler.core.model import HoldRecord, Latch
from scaler.view_plan import plan_lines, shown_plan, told
from tests.actuator.stage import MARK, decided, group, make_scale, planned
from tests.builders import GPU, NOW

SCALE = make_scale()
HOLD = HoldRecord(
    workload="wl",
    workload_uid="wl-uid",
    usage=(("cpu", 4500), (GPU, 8)),
    pod_sets=(("gpu", 2),),
    since=NOW - 600,
    waking_at=NOW - 60,
    reason="all quiet for 20m",
)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (group(suspend=True), "suspend worker group gpu of RayCluster ml/ray-train"),
        (group(suspend=False), "give back worker group gpu of RayCluster ml/ray-train"),
        (
            SetParallelism(
                job=("ml", "job-0"), resource_version="1", parallelism=0, mark=MARK, taking=True
            ),
            "set parallelism 0 on Job ml/job-0",
        ),
        (
            DropMark(kind="Job", object=("ml", "job-0"), mark=MARK),
            "take our mark off Job ml/job-0, which another put back",
        ),
        (
            SetActive(workload=("ml", "wl"), uid="u", active=False, by="train"),
            "deactivate Workload ml/wl",
        ),
        (
            SetActive(workload=("ml", "wl"), uid="u", active=True, by="train"),
            "activate Workload ml/wl",
        ),
        (
            SetNotebook(notebook=("ml", "nb"), resource_version="1", stop=True, mark=MARK),
            "stop Notebook ml/nb",
        ),
        (
            SetNotebook(notebook=("ml", "nb"), resource_version="1", stop=False, mark=MARK),
            "let start Notebook ml/nb",
        ),
        (SetReplicas(replicas=4), "set spec.replicas 4, the target's present size"),
        (SetFinalizer(present=True), "add our finalizer"),
        (SetFinalizer(present=False), "take our finalizer off"),
        (
            WriteStatus(status=replace(SCALE.status, state=State.HELD, hold=HOLD)),
            "write the status: state, hold",
        ),
        (WriteStatus(status=replace(SCALE.status, message="x")), "write the status: message"),
    ],
)
def test_each_step_has_its_words(step: Step, words: str) -> None:
    """What is written, and on which object."""
    assert told(step, SCALE) == words


def test_a_hold_tells_since_when_and_of_what() -> None:
    """And that it is being woken."""
    status = replace(SCALE.status, hold=HOLD, replicas=1)
    plan = planned(SCALE, state=State.WAKING, cause=Cause.WANTED, status=status, look_again_in=4.6)
    lines = plan_lines(plan, (), now=NOW)
    assert "  replicas  0 wanted, 1 there, full size 2" in lines
    assert any(
        line.startswith("  held      Workload wl (wl-uid) since 20") and line.endswith(", for 10m")
        for line in lines
    )
    assert "  away      2 pods of gpu; quota in use cpu 4.5, nvidia.com/gpu 8" in lines
    assert "  taken for all quiet for 20m" in lines
    assert "  waking    for 1m" in lines
    assert "  now       nothing is done" in lines
    assert "  next look in 5s at the latest" in lines


def test_a_latch_tells_until_when_it_is_not_tried_again() -> None:
    """A person can end it."""
    for generation, until in ((3, "until its spec changes"), (-1, "until it was busy")):
        latch = Latch(cause=Cause.UNDONE, message="somebody set it back", generation=generation)
        plan = planned(SCALE, status=replace(SCALE.status, latch=latch, size=None))
        lines = plan_lines(plan, (), now=NOW)
        assert f"  not again Undone: somebody set it back; {until}" in lines
        assert "  replicas  0 wanted, 0 there, full size not read yet" in lines


def test_a_write_that_is_forbidden_is_told() -> None:
    """Whoever asks why nothing happens reads which right is missing."""
    status = with_forbidden(SCALE, message="may not patch pods in namespace ml: no", now=NOW)
    plan = planned(SCALE, group(suspend=True), status=status)
    assert "  forbidden may not patch pods in namespace ml: no" in plan_lines(plan, (), now=NOW)
    assert shown_plan(plan, ()).forbidden == "may not patch pods in namespace ml: no"
    assert "forbidden" not in "".join(plan_lines(planned(SCALE), (), now=NOW))


def test_the_decisions_come_last() -> None:
    """Each as `explain` tells it for a ScaledObject."""
    lines = plan_lines(planned(SCALE), ((decided(SCALE, detail="quiet"), ()),), now=NOW)
    below = lines[lines.index("decided by") + 1 :]
    assert below[0] == "  ml/workerscale/train  inactive, value 0"
    assert "    reason    Idle: quiet" in below


def test_what_is_not_there_is_left_out_of_json() -> None:
    """No hold, no latch."""
    shown = shown_plan(planned(SCALE, group(suspend=True)), ())
    assert shown.hold is None
    assert shown.latch is None
    assert shown.steps == ("suspend worker group gpu of RayCluster ml/ray-train",)
