"""Give account of a Workload: its class, where it counts, how its GPUs rest, who holds it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scaler.core.account.cluster_queue import device_of
from scaler.core.account.readers import Reader, idle_refs, own_ref, readers_of
from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.demand.admissibility import line_up
from scaler.core.demand.granted import requested
from scaler.core.demand.placed import place
from scaler.core.demand.quota import COUNTED
from scaler.core.model import ClusterQueue, Instant, Kind, WorkerScale, Workload
from scaler.core.policy import PROVISIONING_TIMEOUT, Policy
from scaler.core.reasons import CLASS_WORDS, WorkloadClass
from scaler.core.remedy.find import remedies
from scaler.core.remedy.growth import quota_changes
from scaler.core.remedy.quota import Stuck, stuck
from scaler.core.remedy.remedy import Lever, Remedy, moment_told
from scaler.core.remedy.what_if import set_apart
from scaler.core.snapshot import Snapshot
from scaler.core.sources import missing
from scaler.core.trigger import TriggerRef

_KINDS = (Kind.WORKLOADS, Kind.CLUSTER_QUEUES, Kind.LOCAL_QUEUES, Kind.COHORTS, Kind.PODS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Whether a Workload counts in one queue trigger, and why."""

    reader: Reader
    counts: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """What an idle trigger decides on the Workload's GPUs."""

    ref: TriggerRef
    decision: Decision
    remedies: tuple[Remedy, ...]
    own: bool
    """No trigger judges it: this is what one without keys of its own would say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAccount:
    """All of a Workload."""

    workload: Workload
    cluster_queue: str | None
    """None where its LocalQueue does not exist."""
    workload_class: WorkloadClass
    words: str
    gpus: int
    counting: tuple[Counting, ...]
    resting: tuple[Resting, ...]
    scales: tuple[WorkerScale, ...]
    """WorkerScales that hold it now."""
    remedies: tuple[Remedy, ...]
    unknown: str = ""
    """Why it is no more than a guess; empty = all that it needs was read."""


def account_of_workload(
    *, snapshot: Snapshot, workload: Workload, policy: Policy, now: Instant
) -> WorkloadAccount:
    """Give account of a Workload that is in the snapshot."""
    name = cluster_queue_of(snapshot, workload)
    queue = None if name is None else snapshot.cluster_queues.get(name)
    found = class_of(snapshot, workload, now)
    lacking = _lacking(snapshot, workload, queue, now)
    lack = missing(snapshot=snapshot, kinds=_KINDS, max_age=policy.safety.max_watch_age, now=now)
    return WorkloadAccount(
        workload=workload,
        cluster_queue=name,
        workload_class=found,
        words=_words(found),
        gpus=requested(workload, device_of(queue)),
        counting=tuple(
            _counting(snapshot, workload, reader, found, lacking=lacking, policy=policy, now=now)
            for reader in readers_of(
                snapshot=snapshot, cluster_queue=name or "", policy=policy, now=now
            )
        ),
        resting=tuple(_resting(snapshot, workload, policy, now)),
        scales=tuple(_holders(snapshot, workload)),
        remedies=tuple(_remedies(snapshot, workload, queue, lacking, now)),
        unknown="" if lack is None else lack.detail,
    )


def cluster_queue_of(snapshot: Snapshot, workload: Workload) -> str | None:
    """Give the ClusterQueue of its admission, else that of its LocalQueue."""
    if workload.admission is not None:
        return workload.admission.cluster_queue
    link = snapshot.local_queues.get((workload.namespace, workload.queue_name))
    return None if link is None else link.cluster_queue


def class_of(snapshot: Snapshot, workload: Workload, now: Instant) -> WorkloadClass:
    """Class it as the demand of its ClusterQueue does."""
    name = cluster_queue_of(snapshot, workload)
    if name is None:
        return WorkloadClass.NOT_DEMAND
    lineup = line_up(snapshot=snapshot, cluster_queue=name, now=now)
    for batch in lineup.waiting:
        if any(one.uid == workload.uid for one in batch.members):
            return batch.workload_class
    return place(
        snapshot=snapshot,
        workload=workload,
        lineup=lineup,
        provisioning_timeout=PROVISIONING_TIMEOUT,
        now=now,
    ).workload_class


def _holders(snapshot: Snapshot, workload: Workload) -> Iterator[WorkerScale]:
    """Give the WorkerScales that hold it; one of another namespace never does, whatever it says."""
    for scale in snapshot.worker_scales.values():
        hold = scale.status.hold
        same = scale.namespace == workload.namespace
        if same and hold is not None and hold.workload_uid == workload.uid:
            yield scale


def _words(found: WorkloadClass) -> str:
    others = {
        WorkloadClass.RUNNING: "admitted, every pod has its place",
        WorkloadClass.FINISHED: "finished or on its way out",
        WorkloadClass.CONTRADICTORY: "its status contradicts itself",
    }
    return CLASS_WORDS.get(found) or others[found]


def _lacking(
    snapshot: Snapshot, workload: Workload, queue: ClusterQueue | None, now: Instant
) -> Stuck | None:
    """Give it as one that quota stops; None where quota is free, or is not what it waits for."""
    if queue is None:
        return None
    waiting = stuck(snapshot, queue.name, now)
    return next((one for one in waiting if one.workload.uid == workload.uid), None)


def _counting(
    snapshot: Snapshot,
    workload: Workload,
    reader: Reader,
    found: WorkloadClass,
    *,
    lacking: Stuck | None,
    policy: Policy,
    now: Instant,
) -> Counting:
    needs = reader.needs(snapshot=snapshot, policy=policy, now=now)
    need = next((one for one in needs if one.workload.uid == workload.uid), None)
    if need is not None:
        pods = " and ".join(f"{one.count} of {one.pod_set}" for one in need.pods)
        return Counting(reader=reader, counts=True, why=f"pods that need a place: {pods}")
    why = f"class {found} ({_words(found)}) needs no nodes"
    if lacking is not None:
        why = "no quota is free for it, which nodes would not change"
    elif found in COUNTED or found is WorkloadClass.UNPLACED:
        why = "it waited less than scaleUpDelay, or none of its pods is of the trigger's flavor"
    return Counting(reader=reader, counts=False, why=why)


def _resting(
    snapshot: Snapshot, workload: Workload, policy: Policy, now: Instant
) -> Iterator[Resting]:
    """Decide each idle trigger that speaks of it; without one, by the policy alone."""
    refs = tuple(idle_refs(snapshot, workload, policy))
    if refs or not workload.admitted:
        for ref in refs:
            yield _rests(snapshot, ref, policy, now, own=False)
        return
    # As in a bundle without a ScaledObject, the size is what is present.
    alone = replace(snapshot, bundle=True)
    yield _rests(alone, own_ref(workload.key), policy, now, own=True)


def _rests(
    snapshot: Snapshot, ref: TriggerRef, policy: Policy, now: Instant, *, own: bool
) -> Resting:
    decision = decide(snapshot=snapshot, ref=ref, policy=policy, now=now)
    found = remedies(snapshot=snapshot, ref=ref, policy=policy, now=now, decision=decision)
    return Resting(ref=ref, decision=decision, remedies=found, own=own)


def _remedies(
    snapshot: Snapshot,
    workload: Workload,
    queue: ClusterQueue | None,
    lacking: Stuck | None,
    now: Instant,
) -> Iterator[Remedy]:
    """Give what would have it admitted."""
    subject = f"workload/{'/'.join(workload.key)}"
    if lacking is not None:
        yield from (one for one, _ in quota_changes(set_apart(snapshot), lacking, now))
    if queue is None and workload.admission is None:
        text = f"LocalQueue {workload.queue_name} of namespace {workload.namespace} and its "
        yield Remedy(lever=Lever.OBJECT, subject=subject, text=f"{text}ClusterQueue have to exist")
    if not workload.active:
        yield Remedy(lever=Lever.OBJECT, subject=subject, text="spec.active has to be true")
    if workload.requeue_at is not None and workload.requeue_at > now:
        at = workload.requeue_at
        text = f"Kueue lets it queue again at {moment_told(at, now)}"
        yield Remedy(lever=Lever.TIME, subject=subject, at=at, text=text)
