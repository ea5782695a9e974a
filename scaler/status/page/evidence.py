"""What a decision rests on, as tables."""

from collections.abc import Iterator

from scaler.core.decision import (
    ClassCount,
    Decision,
    DeviceEvidence,
    IdleEvidence,
    PoolEvidence,
    QueueEvidence,
    Verdict,
)
from scaler.core.model import Instant
from scaler.core.quantity import format_duration
from scaler.core.reasons import CLASS_WORDS
from scaler.status.page.activity import strip
from scaler.status.page.axis import Axis
from scaler.status.page.chronicle import Activity
from scaler.status.page.clockwork import age
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.parts import facts, row, section, table
from scaler.view import ShownAnswer


def told(answer: ShownAnswer) -> str:
    """Say what KEDA gets."""
    if answer.code != "OK":
        return f"{answer.code}: {answer.message}"
    values = ", ".join(map(str, answer.metric_values or ()))
    active = str(answer.is_active).lower()
    return f"IsActive {active}, GetMetrics {values or 'without a value: the size stays'}"


def queue(evidence: QueueEvidence) -> Iterator[Markup]:
    """Show what a queue signal saw."""
    if evidence.classes:
        counted = {_key(one): one for one in evidence.counted}
        yield section(
            "Workloads by class",
            table(
                ("ClusterQueue", "class", "Workloads", "GPUs", "of them counted"),
                [_class(one, counted.get(_key(one))) for one in evidence.classes],
                label="Workloads by class",
            ),
        )
    seen = [(name, value) for name, value in _also(evidence) if value]
    if seen:
        yield section("Also seen", facts(seen))


def pool_facts(pool: PoolEvidence) -> Markup:
    """Show a pool's nodes in words."""
    return facts(
        (
            ("size", "not known" if pool.size is None else pool.size),
            ("present", pool.present),
            ("usable", pool.usable),
            ("coming", pool.coming),
            ("broken", pool.broken),
            ("new", pool.new),
            ("empty", pool.empty),
            ("spare", pool.spare),
            ("at most", f"{pool.max_nodes}{', capped' if pool.capped else ''}"),
            ("pods placed", pool.pods_placed),
            ("pods that fit no node", pool.pods_fit_no_node),
        )
    )


def idle_facts(idle: IdleEvidence, *, at: Instant) -> Markup:
    """Show what an idle signal saw at an instant, in words."""
    return facts(
        (
            ("workload", idle.workload),
            ("component", idle.component or "all with GPUs"),
            ("verdict", idle.verdict),
            ("quiet", _quiet(idle, at)),
            ("idle window", format_duration(idle.idle_after_seconds)),
            ("GPUs seen", f"{idle.physical_gpus} of {idle.gpus_requested} requested"),
            ("pods", _pods(idle)),
            *((("keepAlive", idle.keep_alive),) if idle.keep_alive else ()),
            *((("wake", idle.wake),) if idle.wake else ()),
        )
    )


def devices(idle: IdleEvidence, seen: Activity, along: Axis, *, busy_from: float) -> Markup:
    """Show each GPU, the busiest first, with its activity as a strip."""
    hidden = idle.physical_gpus - len(idle.devices)
    return section(
        "GPUs, the busiest first",
        table(
            ("GPU", "pods", "activity", "peak in the window", "signal", "samples", "newest"),
            [_device(one, seen, along, busy_from) for one in idle.devices],
            label="GPUs",
        ),
        note=f"and {hidden} more" if hidden > 0 else None,
    )


def settings(decision: Decision) -> Markup | None:
    """Show the values in force, each with the rule that gave it."""
    if not decision.effective:
        return None
    rows = [row(one.key, el("b", one.value), el("code", one.rule)) for one in decision.effective]
    return section(
        "Policy in force",
        table(("setting", "value", "given by"), rows, label="policy in force"),
        note="the strongest wins: trigger, namespace, ClusterQueue, kind, defaults",
    )


def _key(one: ClassCount) -> tuple[str, str]:
    return (one.cluster_queue, one.workload_class)


def _class(one: ClassCount, counted: ClassCount | None) -> Markup:
    words = CLASS_WORDS.get(one.workload_class)
    return row(
        one.cluster_queue,
        f"{one.workload_class}: {words}" if words else one.workload_class,
        one.workloads,
        one.gpus,
        "none" if counted is None else f"{counted.workloads} with {counted.gpus} GPUs",
    )


def _also(evidence: QueueEvidence) -> Iterator[tuple[str, Child]]:
    yield "missing ClusterQueues", ", ".join(evidence.missing_cluster_queues)
    yield "Workloads whose LocalQueue is missing or stopped", evidence.not_routable
    yield "pods with DRA claims only, not counted", evidence.not_counted_dra
    yield "objects that could not be decoded", evidence.skipped_objects


def _quiet(idle: IdleEvidence, at: Instant) -> Child:
    """Say since when no busy sample was seen; where that proves nothing, say so."""
    if idle.idle_seconds is None:
        return "not known"
    since = age(at - idle.idle_seconds, now=at)
    return [since, ", not proven"] if idle.verdict is Verdict.UNKNOWN else since


_PODS_NAMED = 5


def _pods(idle: IdleEvidence) -> str:
    named = ", ".join(idle.pods[:_PODS_NAMED])
    more = len(idle.pods) - _PODS_NAMED
    return (
        f"{len(idle.pods)}: {named}{f' and {more} more' if more > 0 else ''}" if named else "none"
    )


def _device(one: DeviceEvidence, seen: Activity, along: Axis, busy_from: float) -> Markup:
    points = seen.devices.get(one.device, ())
    return row(
        el("code", one.device),
        ", ".join(one.pods),
        strip(points, along, step=seen.step, busy_from=busy_from, name=one.device),
        "no sample" if one.peak_percent is None else f"{one.peak_percent:.1f} %",
        one.signal or "",
        one.samples,
        "not known" if one.sample_age_seconds is None else f"{one.sample_age_seconds:.0f} s old",
    )
