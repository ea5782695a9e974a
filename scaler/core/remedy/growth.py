"""What would change the value of a queue trigger."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from scaler.core.demand.cohorts import Slot
from scaler.core.model import Amounts, Instant
from scaler.core.quantity import several
from scaler.core.reasons import Reason
from scaler.core.remedy.growing import Growing
from scaler.core.remedy.nodes import nodes_remedies
from scaler.core.remedy.quota import Stuck, lack_of, stuck
from scaler.core.remedy.remedy import Lever, Remedy, amounts_told, moment_told, outcome_told
from scaler.core.remedy.what_if import (
    Asked,
    outcome_of,
    with_borrowing,
    with_quota,
    without_workloads,
)
from scaler.core.snapshot import Snapshot

_QUEUES_SHOWN = 3


def growth_remedies(growing: Growing) -> Iterator[Remedy]:
    """Give what would change the value, what stands in its way first."""
    if not growing.trigger.quota_follows_nodes:
        for name in growing.trigger.cluster_queues[:_QUEUES_SHOWN]:
            first = next(stuck(growing.asked.snapshot, name, growing.asked.now), None)
            if first is not None:
                yield from quota_remedies(growing.asked, first)
    yield from nodes_remedies(growing)
    yield from _ripe(growing)
    yield from _replicas(growing)
    yield from _tolerance(growing)
    yield from _demand(growing)


def quota_remedies(asked: Asked, one: Stuck) -> Iterator[Remedy]:
    """Give the quota that lets a Workload in, and what is decided with it."""
    snapshot, value = asked.snapshot, asked.decision.value
    for remedy, changed in quota_changes(snapshot, one, asked.now):
        if changed is None:
            yield remedy
        else:
            then = outcome_of(asked.decide(snapshot=changed))
            yield replace(remedy, then=then, text=f"{remedy.text}: {outcome_told(then, value)}")


def quota_changes(
    snapshot: Snapshot, one: Stuck, now: Instant
) -> Iterator[tuple[Remedy, Snapshot | None]]:
    """Give each way to let a Workload in by quota, with the snapshot that has it."""
    lack, queue = lack_of(snapshot, one, now), one.cluster_queue
    workload = "/".join(one.workload.key)
    if lack is None:
        yield _no_quota(one), None
        return
    cohort = snapshot.cluster_queues[queue].cohort
    amount = amounts_told(amounts_of(lack.more))
    where = (
        f"in cohort {cohort} (nominalQuota of ClusterQueue {queue}, or for it to borrow)"
        if lack.in_cohort
        else f"as nominalQuota of ClusterQueue {queue}"
    )
    quota = Remedy(
        lever=Lever.QUOTA,
        subject=f"cohort/{cohort}" if lack.in_cohort else f"clusterqueue/{queue}",
        flavor=lack.flavor,
        more=amounts_of(lack.more),
        text=f"{amount} more of quota (flavor {lack.flavor}) {where} let Workload {workload} in",
    )
    yield quota, with_quota(snapshot, queue, lack.more)
    if lack.borrowing:
        amount = amounts_told(amounts_of(lack.borrowing))
        limit = Remedy(
            lever=Lever.BORROWING_LIMIT,
            subject=f"clusterqueue/{queue}",
            flavor=lack.flavor,
            more=amounts_of(lack.borrowing),
            text=f"or a borrowingLimit of ClusterQueue {queue} raised by {amount} lets it in",
        )
        yield limit, with_borrowing(snapshot, queue, lack.borrowing)


def _no_quota(one: Stuck) -> Remedy:
    workload = "/".join(one.workload.key)
    why = (
        f"no quota of ClusterQueue {one.cluster_queue} alone does: an earlier Workload stops it"
        if one.countable
        else "Kueue alone knows how much does: no flavor fits, or it counts devices otherwise"
    )
    return Remedy(
        lever=Lever.QUOTA,
        subject=f"clusterqueue/{one.cluster_queue}",
        text=f"quota would have to let Workload {workload} in; {why}",
    )


def amounts_of(slots: Mapping[Slot, int]) -> Amounts:
    """Sum up quota by resource."""
    total: Counter[str] = Counter()
    for (_, resource), amount in slots.items():
        total[resource] += amount
    return tuple(sorted(total.items()))


def _ripe(growing: Growing) -> Iterator[Remedy]:
    """Tell when the next Workload has waited for scaleUpDelay."""
    delay, asked = growing.trigger.scale_up_delay, growing.asked
    waits = [one for one in growing.needs if not growing.question.ripe(one)]
    first = min(waits, key=lambda one: one.since, default=None)
    if first is None:
        return
    at = float(math.ceil(first.since + delay))
    then = outcome_of(asked.decide(now=at))
    yield Remedy(
        lever=Lever.TIME,
        subject=f"workload/{'/'.join(first.workload.key)}",
        at=at,
        text=(
            f"Workload {'/'.join(first.workload.key)} has waited for scaleUpDelay at "
            f"{moment_told(at, asked.now)}: {outcome_told(then, asked.decision.value)}"
        ),
        then=then,
    )


def _replicas(growing: Growing) -> Iterator[Remedy]:
    """Tell that KEDA's own maximum cuts the value."""
    scaled_object, value = growing.scaled_object, growing.asked.decision.value
    if scaled_object is None or value is None or value <= scaled_object.max_replicas:
        return
    most = scaled_object.max_replicas
    yield Remedy(
        lever=Lever.MAX_REPLICAS,
        subject=f"scaledobject/{'/'.join(scaled_object.key)}",
        more=(("replicas", value - most),),
        text=f"maxReplicaCount {most} of the ScaledObject keeps the target at {most}: {value} lets "
        "it have the value",
    )


def _tolerance(growing: Growing) -> Iterator[Remedy]:
    """Tell what the HPA would do without its tolerance."""
    asked, scaled_object = growing.asked, growing.scaled_object
    if asked.decision.reason is not Reason.SWALLOWED or scaled_object is None:
        return
    key = (scaled_object.namespace, scaled_object.hpa_name or "")
    strict = replace(asked.snapshot.hpas[key], tolerance_up=0.0)
    changed = replace(asked.snapshot, hpas={**asked.snapshot.hpas, key: strict})
    then = outcome_of(asked.decide(snapshot=changed))
    yield Remedy(
        lever=Lever.TOLERANCE,
        subject=f"scaledobject/{'/'.join(scaled_object.key)}",
        text='behavior.scaleUp.tolerance: "0" makes the HPA take so small a change: '
        f"{then.reason}, and {outcome_told(then, asked.decision.value)}",
        then=then,
    )


def _demand(growing: Growing) -> Iterator[Remedy]:
    """Tell what the value is once what needs a place has one; where nothing does, what would."""
    asked, needs = growing.asked, growing.needs
    queues = ", ".join(growing.trigger.cluster_queues)
    if not needs:
        if asked.decision.reason is Reason.NO_DEMAND:
            text = f"a Workload in ClusterQueue {queues} that finds no room makes demand"
            yield Remedy(lever=Lever.DEMAND, text=text)
        return
    uids = frozenset(one.workload.uid for one in needs)
    then = outcome_of(asked.decide(snapshot=without_workloads(asked.snapshot, uids)))
    if then.value != asked.decision.value:
        yield Remedy(
            lever=Lever.DEMAND,
            more=(("workloads", -len(uids)),),
            text=f"without the {several(len(uids), 'Workload')} that need a place "
            f"{outcome_told(then, asked.decision.value)}",
            then=then,
        )
