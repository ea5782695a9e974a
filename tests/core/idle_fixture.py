"""The shared cluster of idle tests, and Usage as the Prometheus source gives it for a timeline.

Namespace `ml` has Deployment `workers`, ScaledObject `so` and Running pods that became Ready long
ago. Times in timelines are seconds from T0; a window is open on its left.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.model import (
    Hpa,
    Kind,
    Pod,
    ScaledObject,
    SourceState,
    Target,
    TriggerSpec,
    WorkerScale,
    Workload,
)
from scaler.core.policy import MassIdle, Policy, Safety, Thresholds
from scaler.core.profile import metric_profile
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.core.usage import (
    Device,
    DeviceReading,
    QueryAnswer,
    QueryKey,
    Reading,
    Usage,
    UsageKey,
)
from tests.builders import (
    NOW,
    make_owner,
    make_pod,
    make_scaled_object,
    make_shape,
    make_snapshot,
    make_target,
    make_workload,
)

T0 = NOW
WINDOW = 1800.0
STEP = 30
LOOK_BACK = 6 * 3600
OUT_OF_REACH = MassIdle(workloads=1_000_000)
POLICY = Policy(
    defaults=Thresholds(
        idle_after=WINDOW, busy_from_percent=1.0, grace_after_start=0.0, dry_run=False
    ),
    safety=Safety(mass_idle=OUT_OF_REACH),
)
METADATA = {"signal": "idle"}
Points = Sequence[tuple[float, float]]


def safety(**changes: object) -> Policy:
    """Build the shared policy with some of its safety settings changed."""
    return replace(POLICY, safety=replace(POLICY.safety, **changes))  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def constant(value: float, *, start: float = -7200, stop: float = 0) -> Points:
    """Give one sample every 30 s."""
    return [(t, value) for t in range(int(start), int(stop) + 1, STEP)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series as it was scraped; `gpu` names the device, `instance` a slice of it."""

    pod: str | None
    gpu: str = "GPU-0"
    instance: str = ""
    signal: str = "gpu_util"
    points: Points = field(default_factory=lambda: constant(0))
    namespace: str = "ml"

    @property
    def device(self) -> Device:
        """Give the device that it is of."""
        return Device(uuid=self.gpu, instance=self.instance)


def util(pod: str | None, gpu: object, value: float | Points, *, instance: str = "") -> Series:
    """Build a GPU_UTIL series: `U` of the shared fixtures."""
    points = constant(value) if isinstance(value, (int, float)) else value
    return Series(pod=pod, gpu=f"GPU-{gpu}", points=points, instance=instance)


def engine(pod: str | None, gpu: object, ratio: float | Points, *, instance: str = "") -> Series:
    """Build a GR_ENGINE_ACTIVE series: `G` of the shared fixtures, ratios from 0 to 1."""
    points = constant(ratio) if isinstance(ratio, (int, float)) else ratio
    return Series(
        pod=pod, gpu=f"GPU-{gpu}", points=points, instance=instance, signal="gr_engine_active"
    )


def usage_of(
    *series: Series,
    t: float = 0,
    window: float = WINDOW,
    busy_from: float = 1.0,
    watts: Mapping[str, float] | None = None,
    model: str = "A100",
    moved: bool | None = None,
) -> Usage:
    """Evaluate a timeline at a time as the source does: garbage is neither peak nor sample."""
    readings: dict[tuple[Device, object, str], list[tuple[float, float]]] = defaultdict(list)
    for one in series:
        top = _top(one.signal)
        pod = None if not one.pod else (one.namespace, one.pod)
        usable = [(at, 100 * v / top) for at, v in one.points if at <= t and 0 <= v <= top]
        readings[one.device, pod, one.signal] += usable
    made = [_reading(key, points, t, window, busy_from) for key, points in readings.items()]
    return join_readings(
        *made,
        key=UsageKey(window_seconds=window, busy_from_percent=busy_from),
        at=T0 + t,
        devices={
            device: DeviceReading(
                device=device,
                model=model,
                samples=_samples(readings, device, t, window),
                peak_watts=(watts or {}).get(device.uuid),
                moved=moved,
            )
            for device in {one.device for one in series}
        },
    )


def join_readings(
    *readings: Reading,
    key: UsageKey | None = None,
    at: float = T0,
    devices: Mapping[Device, DeviceReading] | None = None,
    problem: str | None = None,
) -> Usage:
    """Index readings; a device without a DeviceReading has full coverage of every signal."""
    by_pod: dict[tuple[str, str], tuple[Reading, ...]] = {}
    by_device: dict[Device, tuple[Reading, ...]] = {}
    for one in readings:
        by_device[one.device] = (*by_device.get(one.device, ()), one)
        if one.pod is not None:
            by_pod[one.pod] = (*by_pod.get(one.pod, ()), one)
    full = {
        device: DeviceReading(device=device, samples={one.signal: 60 for one in own})
        for device, own in by_device.items()
    }
    return Usage(
        key=key or UsageKey(window_seconds=WINDOW, busy_from_percent=1.0),
        at=at,
        problem=problem,
        by_pod=by_pod,
        by_device=by_device,
        devices=full if devices is None else devices,
    )


def _top(signal: str) -> float:
    known = metric_profile(POLICY.prometheus).signal(signal)
    assert known is not None, signal
    return known.maximum


def _reading(
    key: tuple[Device, object, str],
    points: Points,
    t: float,
    window: float,
    busy_from: float,
) -> Reading:
    device, pod, signal = key
    inside = [(at, v) for at, v in points if t - window < at <= t]
    busy = [at for at, v in points if v >= busy_from and at > t - LOOK_BACK]
    return Reading(
        device=device,
        pod=pod,  # type: ignore[arg-type] # built as a Name or None above
        signal=signal,
        peak=max((v for _, v in inside), default=None),
        latest=T0 + max(at for at, _ in points) if points else None,
        last_busy=T0 + max(busy) if busy else None,
    )


def _samples(
    readings: Mapping[tuple[Device, object, str], Points], device: Device, t: float, window: float
) -> Mapping[str, int]:
    times: defaultdict[str, set[float]] = defaultdict(set)
    for (owner, _, signal), points in readings.items():
        if owner == device:
            times[signal] |= {at for at, _ in points if t - window < at <= t}
    return {signal: len(distinct) for signal, distinct in times.items()}


# --- the cluster -------------------------------------------------------------------------------


def worker(
    name: str = "w-0",
    *,
    gpus: int = 1,
    ready_since: float | None = -7200,
    workload: str | None = None,
    pod_set: str | None = None,
    node: str = "node-0",
    phase: str = "Running",
    opted_out: bool = False,
    app: str = "workers",
    requests: Mapping[str, int] | None = None,
) -> Pod:
    """Build a pod of the Deployment; `ready_since` counts from T0, None is not Ready."""
    pod = make_pod(
        name=name,
        gpus=gpus,
        node=node,
        phase=phase,
        labels={"app": app},
        workload=workload,
        pod_set=pod_set,
        opted_out=opted_out,
        requests=requests,
    )
    since = None if ready_since is None else T0 + ready_since
    return replace(pod, ready_since=since)


def cluster(
    *,
    pods: Iterable[Pod] | None = None,
    usage: Usage | None = None,
    usages: Iterable[Usage] = (),
    replicas: int | None = None,
    target: Target | None = None,
    scaled_object: ScaledObject | None = None,
    scaled_objects: Iterable[ScaledObject] | None = None,
    targets: Iterable[Target] | None = None,
    workloads: Iterable[Workload] = (),
    hpas: Iterable[Hpa] = (),
    worker_scales: Iterable[WorkerScale] = (),
    answers: Mapping[QueryKey, QueryAnswer] | None = None,
    sources: Mapping[Kind, SourceState] | None = None,
    t: float = 0,
    bundle: bool = False,
) -> Snapshot:
    """Build a snapshot at a time: by default one pod `w-0` with one GPU, and S = its pods."""
    own = tuple((worker(),) if pods is None else pods)
    size = sum(pod.live for pod in own) if replicas is None else replicas
    one = target or make_target(replicas=size, shape=make_shape(gpus=1))
    return make_snapshot(
        at=T0 + t,
        pods=own,
        workloads=workloads,
        targets=(one,) if targets is None else targets,
        scaled_objects=((scaled_object or so(),) if scaled_objects is None else scaled_objects),
        hpas=hpas,
        worker_scales=worker_scales,
        usage=(*usages, *(() if usage is None else (usage,))),
        answers=answers,
        sources=sources,
        bundle=bundle,
    )


def so(*, min_replicas: int = 0, idle_replicas: int | None = None, **metadata: str) -> ScaledObject:
    """Build the ScaledObject with one idle trigger; keyword arguments add to its metadata."""
    return make_scaled_object(
        metadata={**METADATA, **metadata}, min_replicas=min_replicas, idle_replicas=idle_replicas
    )


def decided(
    snapshot: Snapshot, *, policy: Policy = POLICY, t: float = 0, **metadata: str
) -> Decision:
    """Decide the idle trigger of `so` at a time; keyword arguments add to its metadata."""
    ref = TriggerRef.of(namespace="ml", name="so", metadata={**METADATA, **metadata})
    return decide(snapshot=snapshot, ref=ref, policy=policy, now=T0 + t)


def kueue_job(name: str = "train", *, pods: int = 1, gpus: int = 1, **changes: object) -> Workload:
    """Build an admitted Workload of Job `NAME`, with the one podset `main`."""
    owner = make_owner(uid=f"{name}-job", kind="Job", name=name)
    built = make_workload(name=f"job-{name}", pods=pods, gpus=gpus, admitted=True, owners=(owner,))
    return replace(built, **changes)  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def cron() -> TriggerSpec:
    """Build a trigger of another scaler, which sizes the target."""
    return TriggerSpec(type="cron", metadata=(("desiredReplicas", "3"),))
