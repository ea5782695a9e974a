"""An idle trigger on a WorkerScale judges the target's workers, and wakes them as a whole."""

from dataclasses import replace

import pytest

from scaler.core.decide import decide
from scaler.core.decision import (
    ActiveWithoutValue,
    Decision,
    Status,
    Unavailable,
    Verdict,
    answer,
)
from scaler.core.idle.starts import idle_starts
from scaler.core.idle.wanted import wanted
from scaler.core.model import Kind, Mode, Pod, ScaledObject, SourceState, WorkerScale, Workload
from scaler.core.policy import Policy, Schedule
from scaler.core.reasons import Reason
from scaler.core.scales import default_ref
from scaler.core.snapshot import Part, Snapshot
from scaler.core.usage import Usage
from tests.builders import (
    handle,
    make_hpa,
    make_owner,
    make_pod_set,
    make_scaled_object,
    make_worker_scale,
    make_workload,
)
from tests.core.idle_fixture import POLICY, T0, cluster, decided, usage_of, util, worker

QUIET = usage_of(util("g-0", 0, 0), util("g-1", 1, 0))
BUSY = usage_of(util("g-0", 0, 0), util("g-1", 1, 60))
ALWAYS = Schedule(
    name="always",
    days=frozenset(range(7)),
    from_minute=0,
    to_minute=1440,
    timezone="UTC",
    keep_active=frozenset({"ml"}),
)


def ray(kind: str = "RayCluster", *, head_gpus: int = 0, **changes: object) -> Workload:
    """Build the admitted Workload of a Ray object: a head, and two workers with a GPU each."""
    sets = (
        make_pod_set(name="head", count=1, gpus=head_gpus),
        make_pod_set(name="gpu", count=2, gpus=1),
    )
    owner = make_owner(uid="ray-uid", kind=kind, name="ray", api_version="ray.io/v1")
    built = make_workload(name="wl", pod_sets=sets, admitted=True, owners=(owner,))
    return replace(built, **changes)  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def workers(**changes: object) -> list[Pod]:
    """Build both workers."""
    found = [worker(f"g-{n}", workload="wl", pod_set="gpu") for n in range(2)]
    return [replace(one, **changes) for one in found]  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def head(*, gpus: int = 0, **changes: object) -> Pod:
    """Build the head."""
    pod = worker("head", workload="wl", pod_set="head", gpus=gpus)
    return replace(pod, **changes)  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def so(**metadata: str) -> ScaledObject:
    """Build the ScaledObject on the WorkerScale."""
    return make_scaled_object(target=handle(), metadata={"signal": "idle", **metadata})


def scene(
    scale: WorkerScale | None = None,
    *,
    pods: list[Pod] | None = None,
    usage: Usage | None = QUIET,
    workload: Workload | None = None,
    scaled_object: ScaledObject | None = None,
    sources: dict[Kind, SourceState] | None = None,
) -> Snapshot:
    """Build the snapshot of one Ray object with its WorkerScale and ScaledObject."""
    return cluster(
        pods=[head(), *workers()] if pods is None else pods,
        usage=usage,
        workloads=[workload or ray()],
        targets=(),
        worker_scales=[scale or make_worker_scale(replicas=2)],
        scaled_objects=[scaled_object or so()],
        sources=sources,
    )


def alone(snapshot: Snapshot, scale: WorkerScale, *, policy: Policy = POLICY) -> Decision:
    """Decide our own trigger, the ScaledObject gone."""
    bare = replace(snapshot, scaled_objects={})
    return decide(snapshot=bare, ref=default_ref(scale), policy=policy, now=T0)


# --- whom it speaks of ---------------------------------------------------------------------------


def test_it_judges_the_component_of_the_target() -> None:
    """It judges the component of the target, and takes the size from the WorkerScale."""
    decision = decided(scene())
    assert (decision.active, decision.value, decision.reason) == (False, 2, Reason.IDLE)
    assert decision.idle is not None
    assert (decision.idle.workload, decision.idle.component) == ("RayCluster/ray", "gpu")
    assert decision.idle.pods == ("g-0", "g-1")


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
def test_a_workload_belongs_to_what_was_queued(kind: str) -> None:
    """The Workload is that of the RayJob or TrainJob itself, not of what it makes."""
    decision = decided(scene(make_worker_scale(kind=kind), workload=ray(kind)))
    assert decision.reason is Reason.IDLE
    assert decision.idle is not None
    assert decision.idle.workload == f"{kind}/ray"


def test_one_worker_keeps_all() -> None:
    """One busy worker keeps all, at the full size whatever number is written."""
    decision = decided(scene(make_worker_scale(replicas=1), usage=BUSY))
    assert (decision.active, decision.value, decision.reason) == (True, 2, Reason.BUSY)
    more = scene(make_worker_scale(replicas=5), usage=BUSY)
    assert decided(more).value == 5


def test_a_triggers_own_replicas_win() -> None:
    """A trigger's own replicas win over the podset's count."""
    scale = make_worker_scale(replicas=0)
    woken = scene(replace(scale, wake_at=0.0), pods=[head()], scaled_object=so(replicas="7"))
    assert decided(woken, replicas="7").value == 7


def test_a_head_is_never_a_worker() -> None:
    """A young or pending head says nothing of the workers, and its GPU is not theirs."""
    for one in (head(ready_since=T0), head(ready_since=None), head(gpus=1, node="node-1")):
        decision = decided(scene(pods=[one, *workers()]))
        assert decision.reason is Reason.IDLE, one
        assert decision.idle is not None
        assert decision.idle.gpus_requested == 2


def test_a_head_that_stays_keeps_no_held_group_running() -> None:
    """A head that stays makes nothing run at zero."""
    decision = decided(scene(make_worker_scale(replicas=0), pods=[head()]))
    assert decision.reason is Reason.AT_ZERO


def test_a_release_judges_the_head_too() -> None:
    """All pods go in mode Release, so a busy head keeps them."""
    scale = make_worker_scale(mode=Mode.RELEASE, component=None)
    pods = [head(gpus=1, node="node-1"), *workers()]
    for percent, reason in ((90, Reason.BUSY), (0, Reason.IDLE)):
        usage = usage_of(util("g-0", 0, 0), util("g-1", 1, 0), util("head", 2, percent))
        snapshot = scene(scale, pods=pods, usage=usage, workload=ray(head_gpus=1))
        assert decided(snapshot).reason is reason
        assert alone(snapshot, scale).reason is reason


def test_a_notebook_is_its_stateful_set() -> None:
    """A Notebook's pods are those of the StatefulSet of its name."""
    scale = make_worker_scale(kind="Notebook", target="workers", component=None, mode=Mode.RELEASE)
    snapshot = cluster(worker_scales=[scale], scaled_objects=[so()], usage=None)
    target = replace(next(iter(snapshot.targets.values())), kind="StatefulSet")
    key = ("StatefulSet", "ml", "workers")
    watched = replace(
        snapshot, targets={key: target}, usage={QUIET.key: usage_of(util("w-0", 0, 0))}
    )
    decision = decided(watched)
    assert decision.reason is Reason.IDLE
    assert decision.idle is not None
    assert decision.idle.workload == "Notebook/workers"


# --- what is not known ---------------------------------------------------------------------------


def test_without_the_worker_scale_nothing_is_decided() -> None:
    """Without the WorkerScale nothing is decided, and the detail names it."""
    snapshot = replace(scene(), worker_scales={})
    decision = decided(snapshot)
    assert (decision.status, decision.reason) == (Status.HOLD, Reason.TARGET_MISSING)
    assert "WorkerScale ray does not exist in namespace ml" in decision.detail
    named = decided(snapshot, workload="RayCluster/ray")
    assert named.reason is Reason.TARGET_MISSING


def test_worker_scales_that_are_not_read_hold() -> None:
    """WorkerScales that are not read hold, by the size that was seen last."""
    lost = {Kind.WORKER_SCALES: SourceState(synced=False, problem="403 on list workerscales")}
    decision = decided(scene(sources=lost))
    assert (decision.reason, answer(decision)) == (Reason.NOT_SYNCED, ActiveWithoutValue())
    assert "403" in decision.detail
    at_zero = decided(scene(make_worker_scale(replicas=0), pods=[], sources=lost))
    assert isinstance(answer(at_zero), Unavailable)


def test_the_size_is_not_the_hpas() -> None:
    """The size is what KEDA wrote, not what its HPA last saw."""
    snapshot = scene(scaled_object=replace(so(), hpa_name="hpa"))
    seen = {("ml", "hpa"): make_hpa(name="hpa", current_replicas=9)}
    assert decided(replace(snapshot, hpas=seen)).value == 2


def test_a_change_of_the_worker_scale_decides_anew() -> None:
    """A change of the WorkerScale decides anew."""
    read = decided(scene()).read
    assert {(Part.TARGETS, "ml"), (Part.SOURCE, Kind.WORKER_SCALES)} <= read


# --- at zero -------------------------------------------------------------------------------------

AT_ZERO = make_worker_scale(replicas=0)


def test_only_a_wake_signal_counts_at_zero() -> None:
    """At zero, missing pods start nothing: only a wake signal counts."""
    decision = decided(scene(AT_ZERO, pods=[head()], usage=None))
    assert (decision.status, decision.active, decision.value) == (Status.OK, False, 0)
    assert decision.reason is Reason.AT_ZERO


@pytest.mark.parametrize("whose", ["WorkerScale", "ScaledObject", "Workload"])
def test_a_wake_annotation_on_any_of_them_wakes_all(whose: str) -> None:
    """A wake annotation on any of them wakes to the podset's count."""
    at = T0 - 60
    snapshot = scene(
        replace(AT_ZERO, wake_at=at if whose == "WorkerScale" else None),
        pods=[head()],
        workload=ray(wake_at=at if whose == "Workload" else None),
        scaled_object=replace(so(), wake_at=at if whose == "ScaledObject" else None),
    )
    decision = decided(snapshot)
    assert (decision.active, decision.value, decision.reason) == (True, 2, Reason.WAKE)
    assert whose in decision.detail


def test_a_wake_annotation_ends_with_its_span() -> None:
    """It wakes once: after idleAfter and grace it says nothing any more."""
    old = replace(AT_ZERO, wake_at=T0 - 1800)
    assert decided(scene(old, pods=[head()])).reason is Reason.AT_ZERO


def test_a_schedule_wakes() -> None:
    """A schedule wakes, with or without a ScaledObject."""
    snapshot, policy = scene(AT_ZERO, pods=[head()]), replace(POLICY, schedules=(ALWAYS,))
    for decision in (decided(snapshot, policy=policy), alone(snapshot, AT_ZERO, policy=policy)):
        assert (decision.active, decision.value, decision.reason) == (True, 2, Reason.SCHEDULED)


def test_c07_an_opt_out_on_the_worker_scale_keeps_it() -> None:
    """C07: an opt-out on the WorkerScale keeps it, and says on what."""
    decision = decided(scene(make_worker_scale(opted_out=True)))
    assert (decision.active, decision.reason) == (True, Reason.OPTED_OUT)
    assert "WorkerScale" in decision.detail


def test_workers_that_still_run_are_judged_although_zero_is_wanted() -> None:
    """KEDA's zero takes nothing: while workers live their readings decide."""
    assert decided(scene(AT_ZERO, usage=BUSY)).reason is Reason.BUSY
    assert decided(scene(AT_ZERO, usage=QUIET)).reason is Reason.IDLE
    assert decided(scene(AT_ZERO, usage=usage_of())).status is Status.HOLD


# --- failure reports -----------------------------------------------------------------------------


def test_c02_c08_one_busy_sample_keeps_all_workers() -> None:
    """C02, C08: the maximum of the window counts, not its mean, with or without a ScaledObject."""
    blip = [(float(t), 12.0 if t == -600 else 0.0) for t in range(-7200, 1, 30)]
    scale = make_worker_scale(replicas=2)
    snapshot = scene(scale, usage=usage_of(util("g-0", 0, 0), util("g-1", 1, blip)))
    for decision in (decided(snapshot), alone(snapshot, scale)):
        assert (decision.active, decision.reason) == (True, Reason.BUSY)


def test_c03_pods_that_may_not_be_read_take_nothing() -> None:
    """C03: a 403 on pods takes nothing."""
    scale = make_worker_scale(replicas=2)
    lost = {Kind.PODS: SourceState(synced=False, problem="403 on list pods")}
    snapshot = scene(scale, sources=lost)
    for decision in (decided(snapshot), alone(snapshot, scale)):
        assert (decision.status, decision.reason) == (Status.HOLD, Reason.NOT_SYNCED)


def test_c04_workers_without_any_sample_are_not_idle() -> None:
    """C04: workers without any sample are not idle, however old they are."""
    scale = make_worker_scale(replicas=2)
    snapshot = scene(scale, usage=usage_of())
    for decision in (decided(snapshot), alone(snapshot, scale)):
        assert (decision.status, decision.reason) == (Status.HOLD, Reason.NO_SAMPLES)


# --- on the way back -----------------------------------------------------------------------------


def test_missing_workers_start_once_they_are_wanted() -> None:
    """Wanted and not there is Starting, with one of two as with none."""
    for pods in ([head()], [head(), workers()[0]]):
        decision = decided(scene(pods=pods, usage=None))
        assert (decision.active, decision.value) == (True, 2)
        assert decision.reason is Reason.STARTING


def test_a_woken_group_is_not_taken_at_once() -> None:
    """C01: after a wake it is judged when grace and the whole window are over."""
    pods = [head(), *workers(ready_since=T0 - 1799)]
    assert decided(scene(pods=pods)).reason is Reason.STARTING
    pods = [head(), *workers(ready_since=T0 - 1800)]
    assert decided(scene(pods=pods)).reason is Reason.IDLE


RELEASED = ray(active=False, admitted=False, reserved=False, admission=None, evicted=True)
QUEUED = ray(admitted=False, reserved=False, admission=None)


@pytest.mark.parametrize("workload", [RELEASED, QUEUED], ids=["deactivated", "queued"])
def test_a_released_one_rests_at_zero_and_starts_once_it_is_wanted(workload: Workload) -> None:
    """Released: at zero only a wake counts; wanted, it waits in the queue and is never idle."""
    for replicas, reason, active, value in (
        (0, Reason.AT_ZERO, False, 0),
        (1, Reason.STARTING, True, 2),
    ):
        scale = make_worker_scale(mode=Mode.RELEASE, component=None, replicas=replicas)
        snapshot = scene(scale, pods=[], usage=None, workload=workload)
        for decision in (decided(snapshot), alone(snapshot, scale)):
            assert (decision.status, decision.reason) == (Status.OK, reason)
            assert (decision.active, decision.value) == (active, value)


def test_a_released_one_is_not_woken_twice() -> None:
    """In the queue it is wanted already: an annotation adds nothing to it."""
    scale = make_worker_scale(mode=Mode.RELEASE, component=None, wake_at=T0)
    decision = decided(scene(scale, pods=[], usage=None, workload=QUEUED))
    assert decision.reason is Reason.STARTING


# --- without a ScaledObject ----------------------------------------------------------------------


def test_our_own_trigger_decides_alike() -> None:
    """With and without the ScaledObject the verdict is one."""
    scale = make_worker_scale(replicas=2)
    for usage in (QUIET, BUSY, usage_of()):
        snapshot = scene(scale, usage=usage)
        given, own = decided(snapshot), alone(snapshot, scale)
        assert own.key == ("ml", "workerscale/ray")
        assert (own.status, own.reason, own.size) == (given.status, given.reason, 2)


def test_our_own_trigger_is_asked_for_and_counts_for_the_brake() -> None:
    """Prometheus is asked for it, and the mass-idle brake sees its start."""
    scale = make_worker_scale()
    bare = replace(scene(scale), scaled_objects={})
    assert wanted(bare, [default_ref(scale)], POLICY, T0).usage == {QUIET.key}
    (start,) = idle_starts(snapshot=bare, policy=POLICY)
    assert start.workload == "RayCluster/ray gpu"


def test_our_own_trigger_of_a_worker_scale_that_is_gone_holds() -> None:
    """Our own trigger of a WorkerScale that is gone holds."""
    gone = replace(scene(), worker_scales={})
    decision = alone(gone, make_worker_scale())
    assert (decision.status, decision.active) == (Status.HOLD, None)


def test_an_unfinished_workload_is_needed() -> None:
    """Once the target's Workload is finished there is nothing to judge, and nothing is taken."""
    decision = decided(replace(scene(), workloads_by_owner_name={}))
    assert decision.reason is Reason.TARGET_MISSING
    assert decision.idle is None or decision.idle.verdict is not Verdict.IDLE
