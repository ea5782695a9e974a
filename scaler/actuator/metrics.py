"""Count what the actuator does, and show what is held."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.lease import Leadership
from scaler.actuator.words import AWAY, BREACHES, Happening, differs, orphan_news
from scaler.core.hold.steps import Plan, Step, WriteStatus
from scaler.core.hold.words import Cause
from scaler.core.hold.words import State as Stand
from scaler.core.model import HoldRecord, Instant, Mode, Name
from scaler.core.profile import MetricProfile, metric_profile
from scaler.core.snapshot import Snapshot
from scaler.store import State
from scaler.telemetry import PREFIX, gauge

_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
_LONG_SECONDS = (60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 86400.0, 3 * 86400.0)

LONGEST_GAP_SECONDS = 120.0
"""Between two plans of one WorkerScale; what another leader saw in between it counted itself."""


class Tracker:
    """Turn plans and writes into metrics; told by the actuator's thread, read by scrapes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all counters."""
        self._registry = registry
        self.writes = self._counter(
            "actuator_writes", "Writes to the API server by step and outcome.", "step", "outcome"
        )
        self.breaches = self._counter(
            "hold_breaches",
            "Holds that were ended by force, by WorkerScale and cause.",
            "cause",
            "namespace",
            "worker_scale",
        )
        self.refusals = self._counter(
            "hold_refusals", "Zeros that were refused, by cause.", "cause"
        )
        self.conflicts = self._counter(
            "hold_conflicts", "Times that another writer undid what was done."
        )
        self.gpu_seconds = self._counter(
            "held_gpu_seconds",
            "GPU seconds that were free because workers were away.",
            "mode",
            "namespace",
        )
        self.taking = self._histogram(
            "take_duration_seconds", "From the first write until no worker was left.", _SECONDS
        )
        self.holding = self._histogram(
            "hold_duration_seconds",
            "How long workers were away until they were wanted back.",
            _LONG_SECONDS,
        )
        self.waking = self._histogram(
            "wake_duration_seconds",
            "From the wish to have them back until all pods were there.",
            _SECONDS,
        )
        self._gpus: dict[Name, tuple[int, Instant]] = {}
        """GPUs that are free for a WorkerScale, and up to when they were counted."""

    def planned(self, plan: Plan, state: State, now: Instant) -> None:
        """Count the GPU seconds since the last plan, and note what is free now."""
        self._drop_gone(state.snapshot)
        key, mode = plan.scale.key, plan.scale.mode
        gpus, since = self._gpus.get(key, (0, now))
        if gpus and 0 < now - since < LONGEST_GAP_SECONDS:
            self.gpu_seconds.labels(mode, key[0]).inc(gpus * (now - since))
        profile = metric_profile(state.policy.policy.prometheus)
        self._gpus[key] = (free_gpus(plan, state.snapshot, profile), now)

    def _drop_gone(self, snapshot: Snapshot) -> None:
        """Forget WorkerScales that are no more, now and then."""
        known = snapshot.worker_scales
        if len(self._gpus) > 2 * len(known) + 10:
            self._gpus = {key: one for key, one in self._gpus.items() if key in known}

    def wrote(self, step: Step, outcome: Outcome) -> None:
        """Count a write."""
        self.writes.labels(type(step).__name__, outcome).inc()

    def applied(self, applied: Applied, state: State) -> None:
        """Count what became another one, once the status that says so is written."""
        if applied.plan.cause is Cause.WORKER_SCALE_LOST:
            self._count_orphan(applied)
            return
        written = next((step for step in applied.done if isinstance(step, WriteStatus)), None)
        if written is None:
            return
        plan, before = applied.plan, applied.plan.scale.status
        if differs(before, plan):
            self._count(plan, before.reason)
        self._time(before.hold, written.status.hold, state.snapshot.at)

    def free(self, plans: Mapping[Name, Plan]) -> Iterable[tuple[Mode, int]]:
        """Give the mode and the GPUs of each WorkerScale whose workers are away."""
        gpus = dict(self._gpus)
        for key, plan in plans.items():
            if plan.state in AWAY:
                yield plan.scale.mode, gpus.get(key, (0, 0.0))[0]

    def _count(self, plan: Plan, before: str) -> None:
        if plan.cause in BREACHES and plan.cause != before:
            self.breaches.labels(plan.cause, *plan.scale.key).inc()
        if plan.state is Stand.REFUSED:
            self.refusals.labels(plan.cause).inc()
        elif plan.state is Stand.CONFLICT:
            self.conflicts.inc()

    def _count_orphan(self, applied: Applied) -> None:
        match orphan_news(applied):
            case Happening.ROLLED_BACK:
                self.breaches.labels(applied.plan.cause, *applied.plan.scale.key).inc()
            case Happening.CONFLICT:
                self.conflicts.inc()
            case _:
                return

    def _time(self, before: HoldRecord | None, after: HoldRecord | None, now: Instant) -> None:
        if after is not None and after.gone_at is not None and _gone_at(before) is None:
            self.taking.observe(max(0.0, after.gone_at - after.since))
        if after is not None and after.waking_at is not None and _waking_at(before) is None:
            self.holding.observe(max(0.0, after.waking_at - after.since))
        if after is None and before is not None and before.waking_at is not None:
            self.waking.observe(max(0.0, now - before.waking_at))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace=PREFIX, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(name, text, namespace=PREFIX, buckets=buckets, registry=self._registry)


class HeldCollector(Collector):
    """Show who leads and what is held; a follower shows no WorkerScales, so that sums are right."""

    def __init__(
        self,
        *,
        tracker: Tracker,
        plans: Callable[[], Mapping[Name, Plan]],
        leadership: Leadership,
    ) -> None:
        """Take where to read from."""
        self._tracker = tracker
        self._plans = plans
        self._leadership = leadership

    def collect(self) -> Iterable[Metric]:
        """Give all families."""
        leading = self._leadership.leading
        leader = gauge("leader", "1 while this process is the one that writes.")
        leader.add_metric((), float(leading))
        yield leader
        if leading:
            yield from self._held(self._plans())

    def describe(self) -> Iterable[Metric]:
        """Name no family ahead: a registry would else collect once at registration."""
        return ()

    def _held(self, plans: Mapping[Name, Plan]) -> Iterator[Metric]:
        states = gauge("worker_scales", "WorkerScales by state.", ("state",))
        for state, number in Tally(plan.state for plan in plans.values()).items():
            states.add_metric((state,), number)
        workloads = gauge("held_workloads", "WorkerScales whose workers are away.", ("mode",))
        gpus = gauge("held_gpus", "GPUs that are free because of that.", ("mode",))
        numbers, sums = Tally[Mode](), Tally[Mode]()
        for mode, count in self._tracker.free(plans):
            numbers[mode] += 1
            sums[mode] += count
        for mode in Mode:
            workloads.add_metric((mode,), numbers[mode])
            gpus.add_metric((mode,), sums[mode])
        yield from (states, workloads, gpus)


def free_gpus(plan: Plan, snapshot: Snapshot, profile: MetricProfile) -> int:
    """Count the GPUs of the pods that are away, 0 while they are not."""
    hold = plan.status.hold
    if hold is None or plan.state not in AWAY:
        return 0
    workload = snapshot.workload_index.get((plan.scale.namespace, hold.workload))
    if workload is None:
        return 0
    shapes = {pod_set.name: pod_set.shape for pod_set in workload.pod_sets}
    return sum(
        pods * profile.devices(shapes[name].requests)
        for name, pods in hold.pod_sets
        if name in shapes
    )


def _gone_at(hold: HoldRecord | None) -> Instant | None:
    return None if hold is None else hold.gone_at


def _waking_at(hold: HoldRecord | None) -> Instant | None:
    return None if hold is None else hold.waking_at
