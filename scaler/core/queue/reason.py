"""Why a queue signal's value is what it is: one reason, and sentences for a platform engineer."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scaler.core.decision import ClassCount, PoolEvidence
from scaler.core.nodes.packing import Packed
from scaler.core.quantity import several
from scaler.core.reasons import Reason, WorkloadClass

_SWALLOWED = (
    "The HPA ignores so small a change: set behavior.scaleUp.tolerance to 0 in the ScaledObject"
    " (Kubernetes 1.37, or 1.33 with its gate)."
)
_DISAGREES = (
    "Kueue has said TopologyPlacementFailed for more than a minute although free nodes would hold"
    " them: look at the topology labels, at taints, and at pods that Kueue does not manage."
)

_NOT_HELPED = {
    WorkloadClass.CHECKS: "with an admission check pending",
    WorkloadClass.EXCEEDS: "beyond what the ClusterQueue can ever have",
    WorkloadClass.NO_FLAVOR: "without a matching flavor",
    WorkloadClass.NOT_DEMAND: "inactive, stopped or backing off",
    WorkloadClass.PREEMPTING: "waiting for their preemption victims",
    WorkloadClass.BLOCKED: "waiting for earlier pods to be Ready",
    WorkloadClass.HELD: "whose workers are held at zero",
    WorkloadClass.CONTRADICTORY: "with a status that contradicts itself",
}
"""Words for the classes that need no nodes, in the order of the classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits, as far as it bears on the reason."""

    workloads: int
    """Workloads that make demand."""
    for_quota: int
    """Workloads that wait for quota that is not free."""
    delayed: int
    """Workloads that scaleUpDelay still leaves out."""
    swallowed: bool
    """The HPA's tolerance is wider than the change."""
    elsewhere: int = 0
    """Workloads that need nodes of another pool: no flavor of theirs leads to this one."""
    topology_disagrees: bool = False
    """They fit, and Kueue has said for long that they don't."""
    not_helped: tuple[tuple[WorkloadClass, int], ...] = ()
    """Workloads by class that no node would help."""


def nodes_reason(
    *, value: int, floor: int, pool: PoolEvidence, packed: Packed, waiting: Waiting
) -> tuple[Reason, str]:
    """Explain a number of nodes; `floor` is what it is without any demand."""
    grows = value > floor
    if grows and waiting.swallowed:
        reason = Reason.SWALLOWED
    elif pool.capped:
        reason = Reason.CAPPED
    elif grows:
        reason = Reason.DEMAND
    elif packed.fits_no_node and not packed.placed:
        reason = Reason.FITS_NO_NODE
    elif waiting.topology_disagrees:
        reason = Reason.TOPOLOGY_DISAGREES
    else:
        reason = _without_growth(waiting)
    said = (
        *_placement(pool, packed, waiting),
        *_others(waiting),
        *_advice(reason, pool),
        f"The value is {value}" + (f" (the target's size is {floor})." if floor else "."),
    )
    return reason, " ".join(said)


def count_reason(*, value: int, pending: int, unit: str, waiting: Waiting) -> tuple[Reason, str]:
    """Explain a number of GPUs or Workloads; `pending` of them have no place yet."""
    if pending and waiting.swallowed:
        reason = Reason.SWALLOWED
    elif pending:
        reason = Reason.DEMAND
    else:
        reason = _without_growth(waiting)
    said = f"{pending} {unit} wait for a place; the value is {value}."
    advice = (_SWALLOWED,) if reason is Reason.SWALLOWED else ()
    return reason, " ".join((said, *_others(waiting), *advice))


def not_helped(classes: Iterable[ClassCount]) -> tuple[tuple[WorkloadClass, int], ...]:
    """Sum up, over all ClusterQueues, the classes that no node would help."""
    totals: Counter[str] = Counter()
    for one in classes:
        totals[one.workload_class] += one.workloads
    return tuple((one, totals[one]) for one in _NOT_HELPED if totals[one])


def _without_growth(waiting: Waiting) -> Reason:
    return Reason.QUOTA_EXHAUSTED if waiting.for_quota else Reason.NO_DEMAND


def _placement(pool: PoolEvidence, packed: Packed, waiting: Waiting) -> Iterator[str]:
    pods = packed.placed + packed.on_new + packed.capped + packed.fits_no_node
    if not pods:
        yield f"Nothing waits for a place in pool {pool.pool}."
    else:
        parts = (
            (packed.placed - packed.on_coming, "fit on present nodes"),
            (packed.on_coming, "wait for coming nodes"),
            (packed.on_new, f"need {several(packed.new, 'new node')}"),
            (packed.capped, f"need more than maxNodes ({pool.max_nodes})"),
            (packed.fits_no_node, "fit no node of the pool"),
        )
        where = ", ".join(f"{number} {words}" for number, words in parts if number)
        workloads = several(waiting.workloads, "Workload")
        yield f"{workloads} ({several(pods, 'pod')}) in pool {pool.pool}: {where}."
    if pool.spare > pool.empty:
        yield f"Of {several(pool.spare, 'spare node')} {pool.spare - pool.empty} lack."


def _others(waiting: Waiting) -> Iterator[str]:
    if waiting.for_quota:
        waits = several(waiting.for_quota, "Workload")
        yield f"For {waits} no quota is free, which nodes would not change."
    if waiting.elsewhere:
        waits = several(waiting.elsewhere, "Workload")
        yield f"For {waits} other nodes are needed, by flavor or node selector."
    if waiting.delayed:
        yield f"{several(waiting.delayed, 'Workload')} waited less than scaleUpDelay."
    if waiting.not_helped:
        said = ", ".join(f"{number} {_NOT_HELPED[one]}" for one, number in waiting.not_helped)
        yield f"Nodes would not help: {said}."


def _advice(reason: Reason, pool: PoolEvidence) -> Iterator[str]:
    if reason is Reason.SWALLOWED:
        yield _SWALLOWED
    elif reason is Reason.TOPOLOGY_DISAGREES:
        yield _DISAGREES
    if pool.broken:
        yield f"{several(pool.broken, 'node')} of the pool can't be used."
