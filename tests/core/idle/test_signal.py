"""What KEDA gets for a verdict, and what the Decision shows for it."""

from dataclasses import replace

import pytest

from scaler.core.decision import Status, Verdict
from scaler.core.idle.starts import idle_starts
from scaler.core.model import Kind, ScaledObject, SourceState, TargetRef, TriggerSpec
from scaler.core.policy import MassIdle
from scaler.core.reasons import Reason
from scaler.core.snapshot import Part, Snapshot
from scaler.core.usage import IdleStart, Usage
from tests.builders import NOW, make_hpa, make_pod, make_target
from tests.core.idle_fixture import (
    POLICY,
    cluster,
    constant,
    cron,
    decided,
    kueue_job,
    safety,
    so,
    usage_of,
    util,
    worker,
)

QUIET = usage_of(util("w-0", 0, 0))
BUSY = usage_of(util("w-0", 0, 60))


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("replicas", "want"), [("1", 2), ("2", 2), ("5", 5)])
def test_busy_keeps_the_size_and_wakes_to_no_less_than_replicas(replicas: str, want: int) -> None:
    """Busy keeps the size and wakes to no less than replicas."""
    pods = [worker("w-0"), worker("w-1")]
    usage = usage_of(util("w-0", 0, 60), util("w-1", 1, 0))
    decision = decided(cluster(pods=pods, usage=usage), replicas=replicas)
    assert (decision.active, decision.value) == (True, want)


def test_a_dry_run_never_shrinks_to_the_minimum() -> None:
    """A dry run never shrinks to the minimum."""
    snapshot = cluster(usage=QUIET, scaled_object=so(min_replicas=1))
    assert decided(snapshot).value == 0
    dry = decided(snapshot, dryRun="true")
    assert (dry.active, dry.value, dry.status) == (True, 1, Status.OK)


def test_an_unknown_size_holds_whatever_the_verdict() -> None:
    """An unknown size holds whatever the verdict."""
    handle = replace(so(), target=TargetRef(name="h", kind="WorkerScale"))
    for usage in (QUIET, BUSY):
        snapshot = cluster(usage=usage, scaled_object=handle)
        decision = decided(snapshot, workload="Deployment/workers")
        assert (decision.status, decision.reason) == (Status.HOLD, Reason.SIZE_UNKNOWN)
        assert decision.running


def test_the_size_is_kedas_hpas_where_the_target_is_not_watched() -> None:
    """The size is kedas hpas where the target is not watched."""
    handle = replace(so(), target=TargetRef(name="h", kind="WorkerScale"), hpa_name="hpa")
    snapshot = cluster(
        usage=QUIET, scaled_object=handle, hpas=[make_hpa(name="hpa", current_replicas=6)]
    )
    decision = decided(snapshot, workload="Deployment/workers")
    assert (decision.active, decision.value) == (False, 6)


def test_another_triggers_value_needs_no_size_while_pods_live() -> None:
    """Another triggers value needs no size while pods live."""
    handle = replace(so(), target=TargetRef(name="h", kind="WorkerScale"))
    both = replace(handle, triggers=(*handle.triggers, cron()))
    decision = decided(cluster(usage=BUSY, scaled_object=both), workload="Deployment/workers")
    assert (decision.active, decision.value) == (True, 1)
    gone = cluster(pods=[], scaled_object=both)
    assert decided(gone, workload="Deployment/workers").reason is Reason.SIZE_UNKNOWN


@pytest.mark.parametrize("scaler", ["external", "external-push"])
def test_a_queue_trigger_beside_it_sizes_the_target(scaler: str) -> None:
    """A queue trigger beside it sizes the target."""
    queue = TriggerSpec(type=scaler, metadata=(("signal", "queue"),))
    own = so()
    both = replace(own, triggers=(*own.triggers, queue))
    pods = [worker(), worker("w-1")]
    usage = usage_of(util("w-0", 0, 50), util("w-1", 1, 0))
    assert decided(cluster(pods=pods, usage=usage, scaled_object=both)).value == 1


def test_without_a_target_the_trigger_holds() -> None:
    """Without a target the trigger holds."""
    decision = decided(cluster(usage=QUIET), workload="Job/gone")
    assert (decision.status, decision.reason) == (Status.HOLD, Reason.TARGET_MISSING)
    assert "Job/gone" in decision.detail


def test_in_a_bundle_without_a_scaled_object_the_live_pods_are_the_size() -> None:
    """In a bundle without a scaled object the live pods are the size."""
    unsynced = {Kind.SCALED_OBJECTS: SourceState(synced=False)}
    snapshot = cluster(usage=QUIET, scaled_objects=[], bundle=True, sources=unsynced)
    decision = decided(snapshot, workload="Deployment/workers")
    assert (decision.active, decision.value, decision.reason) == (False, 1, Reason.IDLE)


# --- evidence ----------------------------------------------------------------------------------


def test_evidence_shows_the_busiest_devices_first_and_no_more_than_sixteen() -> None:
    """Evidence shows the busiest devices first and no more than sixteen."""
    gpus = [util("w-0", n, n / 20) for n in range(18)]
    decision = decided(cluster(pods=[worker(gpus=18)], usage=usage_of(*gpus)))
    assert decision.idle is not None
    assert len(decision.idle.devices) == 16
    assert decision.idle.devices[0].device == "GPU-17"
    assert decision.idle.physical_gpus == decision.idle.gpus_requested == 18


def test_evidence_says_how_each_device_was_judged() -> None:
    """Evidence says how each device was judged."""
    points = [*constant(0, stop=-30), (-3000.0, 70.0)]
    decision = decided(cluster(usage=usage_of(util("w-0", 0, points))))
    assert decision.idle is not None
    (device,) = decision.idle.devices
    assert (device.pods, device.peak_percent, device.signal) == (("w-0",), 0, "gpu_util")
    assert (device.samples, device.sample_age_seconds) == (59, 30)
    assert decision.idle.idle_seconds == 3000
    assert decision.idle.idle_after_seconds == 1800
    assert decision.idle.verdict is Verdict.IDLE
    assert decision.idle.workload == "Deployment/workers"


def test_busy_evidence_has_no_idle_seconds_and_the_detail_names_signal_and_device() -> None:
    """Busy evidence has no idle seconds and the detail names signal and device."""
    decision = decided(cluster(usage=BUSY))
    assert decision.idle is not None
    assert decision.idle.idle_seconds is None
    assert "gpu_util of device GPU-0 reached 60 %" in decision.detail


def test_a_hold_shows_what_evidence_there_is() -> None:
    """A hold shows what evidence there is."""
    usage = usage_of(util("w-0", 0, [(-30.0, 0.0), (0.0, 0.0)]))
    decision = decided(cluster(usage=usage))
    assert decision.reason is Reason.LOW_COVERAGE
    assert decision.idle is not None
    assert decision.idle.verdict is Verdict.UNKNOWN
    assert decision.idle.devices[0].samples == 2
    assert (decision.active, decision.value, decision.running) == (None, None, True)


def test_a_decision_lists_what_it_read() -> None:
    """A decision lists what it read."""
    neighbor = replace(worker("other", app="x"), namespace="elsewhere")
    read = decided(cluster(pods=[worker(), neighbor], replicas=1, usage=QUIET)).read
    assert {
        (Part.SOURCE, "pods"),
        (Part.SOURCE, "deployments"),
        (Part.TARGETS, "ml"),
        (Part.PODS, "ml"),
        (Part.PODS, "elsewhere"),
        (Part.NODES, ""),
        (Part.USAGE, ""),
        (Part.POLICY, ""),
    } <= read


def test_a_workloads_decision_read_its_cluster_queue_and_a_missing_ones_all() -> None:
    """A workloads decision read its cluster queue and a missing ones all."""
    job = kueue_job("w")
    snapshot = cluster(pods=[worker(workload="job-w")], workloads=[job], usage=QUIET)
    assert (Part.QUEUE, "gpu-cq") in decided(snapshot, workload="Job/w").read
    assert (Part.QUEUE, "gpu-cq") in decided(snapshot, workload="Job/gone").read


# --- the mass-idle brake -----------------------------------------------------------------------

BRAKE = safety(mass_idle=MassIdle(workloads=3, percent=50, hold_for=3600))


def fleet(*quiet_since: float, moved: bool | None = None, busy: int = 0) -> tuple[Snapshot, Usage]:
    """Build Deployments `d-N`, each quiet since a time, and some busy ones; `so` has `d-0`."""
    names = [f"d-{n}" for n in range(len(quiet_since) + busy)]
    series = []
    for n, name in enumerate(names):
        since = quiet_since[n] if n < len(quiet_since) else 0
        series.append(util(name, n, [(t, 80.0 if t <= since else 0.0) for t, _ in constant(0)]))
    usage = usage_of(*series, moved=moved)
    objects = [owner_of(name, "so" if n == 0 else name) for n, name in enumerate(names)]
    pods = [worker(name, app=name, node=f"node-{name}") for name in names]
    snapshot = cluster(
        pods=pods,
        usage=usage,
        targets=[make_target(name=name) for name in names],
        scaled_objects=objects,
    )
    return snapshot, usage


def owner_of(target: str, name: str) -> ScaledObject:
    """Build the ScaledObject of one of the fleet's Deployments."""
    return replace(so(), name=name, target=TargetRef(name=target))


@pytest.mark.parametrize(
    ("since", "busy", "want"),
    [
        ((-2400, -2400, -2400), 0, Reason.MASS_IDLE),
        ((-2400, -2370, -2340), 3, Reason.MASS_IDLE),
        ((-2400, -2400, -2400), 4, Reason.IDLE),
        ((-2400, -2400), 0, Reason.IDLE),
        ((-2400, -3000, -3600), 0, Reason.IDLE),
        ((-5400, -5400, -5400), 0, Reason.IDLE),
    ],
)
def test_many_workloads_that_fell_quiet_at_once_are_held(
    since: tuple[float, ...], busy: int, want: Reason
) -> None:
    """Many workloads that fell quiet at once are held."""
    snapshot, _ = fleet(*since, busy=busy)
    assert decided(snapshot, policy=BRAKE).reason is want


@pytest.mark.parametrize(
    ("moved", "want"),
    [(None, Reason.MASS_IDLE), (False, Reason.MASS_IDLE), (True, Reason.IDLE)],
)
def test_sensors_that_move_release_the_brake(moved: bool | None, want: Reason) -> None:  # noqa: FBT001 # a parameter of the table
    """Sensors that move release the brake."""
    snapshot, _ = fleet(-2400, -2400, -2400, moved=moved)
    assert decided(snapshot, policy=BRAKE).reason is want


def test_every_device_has_to_move_to_release_the_brake() -> None:
    """Every device has to move to release the brake."""
    snapshot, usage = fleet(-2400, -2400, -2400)
    fell = [(t, 80.0 if t <= -2400 else 0.0) for t, _ in constant(0)]
    device = util("d-0", "second", 0).device
    both = usage_of(
        *(util(f"d-{n}", n, fell) for n in range(3)),
        util("d-0", "second", 0),
        moved=True,
    )
    still = {**both.devices, device: replace(both.devices[device], moved=False)}
    pods = {**snapshot.pods["ml"], "d-0": worker("d-0", app="d-0", gpus=2)}
    two = replace(snapshot, pods={"ml": pods}, usage={usage.key: replace(both, devices=still)})
    assert decided(two, policy=BRAKE).reason is Reason.MASS_IDLE


def test_the_brake_keeps_a_busy_workload_busy() -> None:
    """The brake keeps a busy workload busy."""
    snapshot, usage = fleet(-2400, -2400, -2400, -2400)
    loud = usage_of(util("d-0", 0, 50), *(util(f"d-{n}", n, 0) for n in range(1, 4)))
    assert usage.key == loud.key
    louder = replace(snapshot, usage={loud.key: loud})
    assert decided(louder, policy=BRAKE).reason is Reason.BUSY


def test_idle_starts_are_read_off_every_idle_trigger_with_samples() -> None:
    """Idle starts are read off every idle trigger with samples."""
    snapshot, _ = fleet(-2400, -1200, busy=1)
    extra = replace(
        snapshot,
        scaled_objects={
            **snapshot.scaled_objects,
            ("ml", "lost"): owner_of("gone", "lost"),
            ("ml", "other"): replace(so(), name="other", triggers=(cron(),)),
        },
    )
    found = {one.workload: one.at for one in idle_starts(snapshot=extra, policy=POLICY)}
    assert found == {
        "Deployment/d-0": NOW - 2400,
        "Deployment/d-1": None,
        "Deployment/d-2": None,
    }


def test_idle_starts_that_the_snapshot_brings_are_not_worked_out_again() -> None:
    """Idle starts that the snapshot brings are not worked out again."""
    snapshot, _ = fleet(-2400, -3000)
    crowd = tuple(IdleStart(namespace="ml", workload=f"w-{n}", at=NOW - 2400) for n in range(3))
    assert decided(snapshot, policy=BRAKE).reason is Reason.IDLE
    brought = replace(snapshot, idle_starts=crowd)
    assert decided(brought, policy=BRAKE).reason is Reason.MASS_IDLE


def test_a_usage_that_failed_gives_no_idle_starts() -> None:
    """A usage that failed gives no idle starts."""
    snapshot, usage = fleet(-2400, -2400)
    failed = replace(snapshot, usage={usage.key: replace(usage, problem="503")})
    assert idle_starts(snapshot=failed, policy=POLICY) == ()
    assert idle_starts(snapshot=replace(snapshot, usage={}), policy=POLICY) == ()


def test_a_component_of_finished_pods_is_starting_and_not_idle() -> None:
    """A component of finished pods is starting and not idle."""
    done = [replace(make_pod(name="w-0", labels={"app": "workers"}), phase="Succeeded")]
    assert decided(cluster(pods=done, replicas=1, usage=QUIET)).reason is Reason.STARTING
