"""How much quota a waiting Workload lacks: found by admitting it, in simulation, with more."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scaler.core.demand.asks import Ask
from scaler.core.demand.cohorts import Slot, quotas_of
from scaler.core.demand.quota import COUNTED, QueueGrants, simulated
from scaler.core.model import Instant, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.remedy.what_if import with_borrowing, with_cohort_quota, with_quota
from scaler.core.snapshot import Snapshot

_MOST_TIMES = 1 << 10
"""How many times its own size a Workload is let in with at most: others may be before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A waiting Workload for which no quota is free."""

    workload: Workload
    workload_class: WorkloadClass
    cluster_queue: str
    asks: tuple[Ask, ...]

    @property
    def countable(self) -> bool:
        """Say whether its quota can be counted: Kueue may count its devices otherwise."""
        return not any(ask.transformed for ask in self.asks) and all(
            group.flavors for ask in self.asks for group in ask.groups
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """The quota that lets a Workload in; one less of any of it does not."""

    flavor: str
    more: Mapping[Slot, int]
    """On the ClusterQueue's nominal quota."""
    in_cohort: bool
    """As much anywhere in its cohort, for it to borrow, lets it in too."""
    borrowing: Mapping[Slot, int]
    """On the ClusterQueue's borrowing limits, which lets it in too; empty = does not help."""


def stuck(snapshot: Snapshot, cluster_queue: str, now: Instant) -> Iterator[Stuck]:
    """Give the Workloads that wait for quota which is not free, in Kueue's order."""
    queue = simulated(snapshot=snapshot, cluster_queue=cluster_queue, now=now)
    found = [] if queue is None else list(_stuck(queue, cluster_queue))
    yield from sorted(found, key=lambda one: queue_order(one.workload))


def queue_order(workload: Workload) -> tuple[int, Instant, str]:
    """Order Workloads as Kueue does."""
    return (-workload.priority, workload.queued_at, workload.uid)


def lack_of(snapshot: Snapshot, one: Stuck, now: Instant) -> Lack | None:
    """Find the quota that lets it in, on the flavor that lacks the fewest devices.

    None where no quota does: another Workload stops its queue, or Kueue counts in other units.
    """
    if not one.countable:
        return None
    found = [lack for flavor in _flavors(one) if (lack := _on(snapshot, one, flavor, now))]
    return min(found, key=_size, default=None)


def _stuck(queue: QueueGrants, cluster_queue: str) -> Iterator[Stuck]:
    for batch, asks, grants in zip(queue.lineup.waiting, queue.asks, queue.grants, strict=True):
        if batch.workload_class in COUNTED:
            for workload in batch.members[len(grants) :]:
                yield Stuck(
                    workload=workload,
                    workload_class=batch.workload_class,
                    cluster_queue=cluster_queue,
                    asks=asks,
                )


def _granted(snapshot: Snapshot, one: Stuck, now: Instant) -> bool:
    queue = simulated(snapshot=snapshot, cluster_queue=one.cluster_queue, now=now)
    return queue is not None and any(
        member.uid == one.workload.uid
        for batch, grants in zip(queue.lineup.waiting, queue.grants, strict=True)
        for member in batch.members[: len(grants)]
    )


def _flavors(one: Stuck) -> tuple[str, ...]:
    """Give the flavors that its devices may have, else its first ones."""
    groups = [group for ask in one.asks for group in ask.groups]
    of_devices = [group for group in groups if any("/" in name for name, _ in group.each)]
    return tuple(dict.fromkeys(name for group in (of_devices or groups) for name in group.flavors))


def _on(snapshot: Snapshot, one: Stuck, flavor: str, now: Instant) -> Lack | None:
    whole = _asked(one, flavor)

    def granted_by(
        raise_by: Callable[[Snapshot, str, Mapping[Slot, int]], Snapshot], where: str
    ) -> Callable[[Mapping[Slot, int]], bool]:
        return lambda more: _granted(raise_by(snapshot, where, more), one, now)

    more = _least(whole, granted_by(with_quota, one.cluster_queue))
    if more is None:
        return None
    cohort = snapshot.cluster_queues[one.cluster_queue].cohort
    limited = _limited(snapshot, one.cluster_queue, whole)
    borrowing = _least(limited, granted_by(with_borrowing, one.cluster_queue)) if limited else None
    return Lack(
        flavor=flavor,
        more=more,
        in_cohort=bool(cohort) and granted_by(with_cohort_quota, cohort or "")(more),
        borrowing=borrowing or {},
    )


def _asked(one: Stuck, flavor: str) -> Mapping[Slot, int]:
    """Sum up what it asks of quota, its devices on one flavor."""
    whole: Counter[Slot] = Counter()
    for ask in one.asks:
        for group in ask.groups:
            on = flavor if flavor in group.flavors else group.flavors[0]
            for resource, each in group.each:
                whole[on, resource] += each * ask.count
    return {slot: amount for slot, amount in whole.items() if amount}


def _limited(snapshot: Snapshot, cluster_queue: str, slots: Mapping[Slot, int]) -> dict[Slot, int]:
    quotas = quotas_of(snapshot.cluster_queues[cluster_queue].groups)
    return {
        slot: amount
        for slot, amount in slots.items()
        if slot in quotas and quotas[slot].borrowing_limit is not None
    }


def _least(
    whole: Mapping[Slot, int], lets_in: Callable[[Mapping[Slot, int]], bool]
) -> dict[Slot, int] | None:
    """Take as much as is needed and not more, slot by slot; None where no amount lets it in."""
    times = 1
    while not lets_in({slot: amount * times for slot, amount in whole.items()}):
        times *= 2
        if times > _MOST_TIMES:
            return None
    more = {slot: amount * times for slot, amount in whole.items()}
    for slot in sorted(whole, key=lambda one: "/" in one[1]):
        low, high = -1, more[slot]
        while high - low > 1:
            middle = 0 if low < 0 else (low + high) // 2
            low, high = (low, middle) if lets_in({**more, slot: middle}) else (middle, high)
        more[slot] = high
    return {slot: amount for slot, amount in more.items() if amount}


def _size(lack: Lack) -> tuple[int, int]:
    devices = sum(amount for (_, name), amount in lack.more.items() if "/" in name)
    return devices, sum(lack.more.values())
