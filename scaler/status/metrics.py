"""The gauges of /metrics, read from the store at each scrape."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from scaler.core.decision import Decision, Status
from scaler.core.model import Instant
from scaler.core.reasons import Reason
from scaler.observer.observer import refs_of
from scaler.status.tenants import tenants
from scaler.store import State, Store
from scaler.telemetry import Telemetry, gauge

TRIGGER = ("namespace", "scaled_object", "metric")


class StateCollector(Collector):
    """Turn the newest State into gauges."""

    def __init__(
        self, *, store: Store, clock: Callable[[], Instant], decisions: bool = True
    ) -> None:
        """Take the store; without `decisions` only sources and policy are shown."""
        self._store = store
        self._clock = clock
        self._shows_decisions = decisions

    def collect(self) -> Iterable[Metric]:
        """Give all families."""
        state, now = self._store.latest(), self._clock()
        decisions = _in_force_first(state) if self._shows_decisions else ()
        for families in (
            _decisions(decisions),
            _idle(decisions),
            _demand(decisions),
            _pools(decisions),
            _sources(state, now),
            _policy(state),
            tenants(state, now) if self._shows_decisions else (),
        ):
            yield from map(_distinct, families)

    def describe(self) -> Iterable[Metric]:
        """Name no family ahead: a registry would else collect once at registration."""
        return ()


def register(
    *, telemetry: Telemetry, store: Store, clock: Callable[[], Instant], decisions: bool = True
) -> CollectorRegistry:
    """Add the gauges to the process's registry and give it.

    One process of several shows `decisions`: in sums over all they would count twice.
    """
    telemetry.registry.register(StateCollector(store=store, clock=clock, decisions=decisions))
    return telemetry.registry


def _in_force_first(state: State) -> tuple[Decision, ...]:
    """Give the Decisions, those of ScaledObjects as they are now before those once asked for."""
    own = set(refs_of(state.snapshot))
    return tuple(
        state.decisions[ref] for ref in sorted(state.decisions, key=lambda r: r not in own)
    )


def _distinct(metric: Metric) -> Metric:
    """Drop samples whose labels were there: a scraper may refuse the whole page for one.

    Two triggers of a ScaledObject can have one name, as after an edit of keys that KEDA alone
    reads; the first counts.
    """
    first = {frozenset(sample.labels.items()): sample for sample in reversed(metric.samples)}
    metric.samples = list(reversed(first.values()))
    return metric


def _trigger(decision: Decision) -> tuple[str, str, str]:
    return (decision.namespace, decision.name, decision.metric)


def _decisions(decisions: Iterable[Decision]) -> Iterator[Metric]:
    value = gauge("decision_value", "Value answered to KEDA; absent while in HOLD.", TRIGGER)
    active = gauge("decision_active", "1 = active; absent while in HOLD.", TRIGGER)
    reason = gauge("decision_reason", "1 for the reason in force.", (*TRIGGER, "status", "reason"))
    hold = gauge("hold", "1 while the trigger is in HOLD, by cause.", (*TRIGGER, "reason"))
    size = gauge("target_size", "The target's size now, where it is known.", TRIGGER)
    for decision in decisions:
        labels = _trigger(decision)
        reason.add_metric((*labels, decision.status, decision.reason), 1.0)
        if decision.size is not None:
            size.add_metric(labels, decision.size)
        if decision.status is not Status.OK:
            hold.add_metric((*labels, decision.reason), 1.0)
            continue
        value.add_metric(labels, float(decision.value or 0))
        active.add_metric(labels, float(bool(decision.active)))
    yield from (value, active, reason, hold, size)


def _idle(decisions: Iterable[Decision]) -> Iterator[Metric]:
    labels = ("namespace", "scaled_object", "workload", "component")
    seconds = gauge("idle_seconds", "Seconds since the last busy sample, as far as seen.", labels)
    limit = gauge("idle_after_seconds", "The limit of idle_seconds.", labels)
    gpus = gauge("judged_gpus", "GPUs that the component's live pods request.", labels)
    would = gauge("dry_run_would_be_idle", "1 = idle, but for the dry run.", labels)
    for decision in decisions:
        idle = decision.idle
        if idle is None:
            continue
        names = (decision.namespace, decision.name, idle.workload, idle.component)
        if idle.idle_seconds is not None:
            seconds.add_metric(names, idle.idle_seconds)
        limit.add_metric(names, idle.idle_after_seconds)
        gpus.add_metric(names, idle.gpus_requested)
        would.add_metric(names, float(decision.reason is Reason.DRY_RUN))
    yield from (seconds, limit, gpus, would)


def _demand(decisions: Iterable[Decision]) -> Iterator[Metric]:
    labels = ("cluster_queue", "class")
    workloads = gauge("workloads", "Workloads of a ClusterQueue by class.", labels)
    gpus = gauge("workload_gpus", "GPUs that those Workloads ask for.", labels)
    seen: set[tuple[str, str]] = set()
    for decision in decisions:
        for count in decision.queue.classes if decision.queue else ():
            key = (count.cluster_queue, count.workload_class)
            if key not in seen:
                # Several triggers may read one ClusterQueue; it is one number all the same.
                seen.add(key)
                workloads.add_metric(key, count.workloads)
                gpus.add_metric(key, count.gpus)
    yield from (workloads, gpus)


def _pools(decisions: Iterable[Decision]) -> Iterator[Metric]:
    nodes = gauge("pool_nodes", "Nodes of a pool by state.", ("pool", "state"))
    seen: set[str] = set()
    for decision in decisions:
        pool = decision.queue.pool if decision.queue else None
        if pool is None or pool.pool in seen:
            continue
        seen.add(pool.pool)
        for state in ("present", "usable", "coming", "broken", "new", "empty"):
            nodes.add_metric((pool.pool, state), getattr(pool, state))
        nodes.add_metric((pool.pool, "maximum"), pool.max_nodes)
    yield nodes


def _sources(state: State, now: Instant) -> Iterator[Metric]:
    age = gauge("source_age_seconds", "Seconds since a source's last sign of life.", ("source",))
    up = gauge("source_up", "1 = synced and without a problem.", ("source",))
    skipped = gauge("undecodable_objects", "Objects skipped now.", ("kind",))
    for kind, source in state.snapshot.sources.items():
        if not source.installed:
            continue  # most clusters lack a kind or two: that is no fault, and HOLD where it is one
        up.add_metric((kind,), float(source.synced and source.problem is None))
        if source.last_alive is not None:
            age.add_metric((kind,), max(0.0, now - source.last_alive))
    for kind, number in state.snapshot.skipped.items():
        skipped.add_metric((kind,), number)
    reads = [(usage.at, usage.problem) for usage in state.snapshot.usage.values()]
    reads += [(answer.at, answer.problem) for answer in state.snapshot.answers.values()]
    if reads:
        up.add_metric(("prometheus",), float(all(problem is None for _, problem in reads)))
        age.add_metric(("prometheus",), max(0.0, now - min(at for at, _ in reads)))
    yield from (age, up, skipped)


def _policy(state: State) -> Iterator[Metric]:
    policy = state.policy
    for name, text, value in (
        (
            "policy_loaded_timestamp_seconds",
            "When the policy in force was loaded.",
            policy.loaded_at,
        ),
        ("policy_reload_ok", "1 = the file as it is now is in force.", float(not policy.problems)),
        ("policy_hot_reload", "1 = the file can be updated while running.", float(policy.hot)),
        ("policy_dry_run", "1 = dry run by default.", float(bool(policy.policy.defaults.dry_run))),
    ):
        family = gauge(name, text)
        family.add_metric((), value)
        yield family
