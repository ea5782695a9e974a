from dataclasses import replace

import pytest

from scaler.core.decide import decide
from scaler.core.decision import ActiveWithoutValue, Decision, Status, Unavailable, answer
from scaler.core.metadata import metric_name
from scaler.core.model import Kind, SourceState
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from tests.builders import NOW, make_workload
from tests.core.idle_fixture import POLICY, cluster, decided, so, usage_of, util, worker

QUIET = usage_of(util("w-0", 0, 0))
GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}


def ask(snapshot: Snapshot, metadata: dict[str, str], name: str = "so") -> Decision:
    """Decide a trigger in namespace `ml`."""
    ref = TriggerRef.of(namespace="ml", name=name, metadata=metadata)
    return decide(snapshot=snapshot, ref=ref, policy=POLICY, now=NOW)


@pytest.mark.parametrize("metadata", [{}, {"signal": "idel"}, {"signal": "idle", "idleAfter": "x"}])
@pytest.mark.parametrize("pods", [0, 2])
def test_malformed_metadata_is_refused_and_holds_a_live_target(
    metadata: dict[str, str], pods: int
) -> None:
    """Malformed metadata is refused and holds a live target."""
    snapshot = cluster(pods=[worker(f"w-{n}") for n in range(pods)], usage=QUIET)
    decision = ask(snapshot, metadata)
    assert (decision.status, decision.reason) == (Status.INVALID, Reason.BAD_METADATA)
    assert (decision.active, decision.value, decision.metric) == (None, None, "")
    assert decision.problems
    held = answer(decision)
    assert isinstance(held, ActiveWithoutValue if pods else Unavailable)


def test_every_problem_of_malformed_metadata_is_told() -> None:
    """Every problem of malformed metadata is told."""
    decision = ask(cluster(), {"signal": "idle", "idleAfter": "x", "replicas": "-1", "pool": "a"})
    assert len(decision.problems) == 3
    assert all(problem in decision.detail for problem in decision.problems)


def test_each_signal_is_decided_by_its_own_rules() -> None:
    """Each signal is decided by its own rules."""
    snapshot = cluster(usage=QUIET, workloads=[make_workload(gpus=3)])
    idle, queue = ask(snapshot, {"signal": "idle"}), ask(snapshot, GPUS)
    assert idle.reason is Reason.IDLE
    assert idle.idle is not None
    assert queue.queue is not None
    assert queue.value == 3


@pytest.mark.parametrize("metadata", [{"signal": "idle"}, GPUS])
def test_a_decision_carries_the_metrics_name(metadata: dict[str, str]) -> None:
    """A decision carries the metrics name."""
    ref = TriggerRef.of(namespace="ml", name="so", metadata=metadata)
    assert ask(cluster(), metadata).metric == metric_name(ref)


def test_a_scaled_object_that_is_not_known_yet_is_held() -> None:
    """A scaled object that is not known yet is held."""
    decision = ask(cluster(usage=QUIET), {"signal": "idle"}, name="new")
    assert decision.status is Status.HOLD
    missing = SourceState(synced=False)
    snapshot = cluster(usage=QUIET, scaled_objects=[], sources={Kind.SCALED_OBJECTS: missing})
    assert decided(snapshot).reason is Reason.NOT_SYNCED


def test_a_known_workload_of_an_unknown_scaled_object_is_held_as_running() -> None:
    """A known workload of an unknown scaled object is held as running."""
    snapshot = cluster(usage=QUIET, scaled_objects=[])
    decision = decided(snapshot, workload="Deployment/workers")
    assert (decision.status, decision.reason) == (Status.HOLD, Reason.SIZE_UNKNOWN)
    assert answer(decision) == ActiveWithoutValue()


def test_a_paused_scaled_object_is_decided_like_any_other() -> None:
    """A paused scaled object is decided like any other."""
    paused = cluster(usage=QUIET, scaled_object=replace(so(), paused=True))
    assert decided(paused) == decided(cluster(usage=QUIET))
