"""Which queue triggers read a ClusterQueue, and which idle triggers speak of a Workload."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.demand.need import Need
from scaler.core.metadata import parse
from scaler.core.model import Instant, Name, Workload
from scaler.core.policy import Policy
from scaler.core.queue.nodes import QueueQuestion
from scaler.core.queue.waiting import demand_of
from scaler.core.scales import default_refs, scale_of
from scaler.core.size import Size
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger, QueueTrigger, TriggerRef
from scaler.core.workers.component import Unfound
from scaler.core.workers.resolve import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A queue trigger that reads a ClusterQueue, and what is decided for it now."""

    ref: TriggerRef
    trigger: QueueTrigger
    decision: Decision

    def needs(self, *, snapshot: Snapshot, policy: Policy, now: Instant) -> tuple[Need, ...]:
        """Give the Workloads that make its demand, those before scaleUpDelay left out."""
        question = QueueQuestion(
            snapshot=snapshot,
            ref=self.ref,
            trigger=self.trigger,
            policy=policy,
            now=now,
            scaled_object=snapshot.scaled_objects.get(self.ref.key),
            size=Size(value=self.decision.size, running=self.decision.running, detail=""),
        )
        return question.ripened(demand_of(question, flavor=self.trigger.flavor).needs)


def readers_of(
    *, snapshot: Snapshot, cluster_queue: str, policy: Policy, now: Instant
) -> Iterator[Reader]:
    """Give the queue triggers that name a ClusterQueue, by their ScaledObjects' names."""
    for ref in refs_of_signal(snapshot, "queue"):
        trigger = parse(dict(ref.metadata))
        if isinstance(trigger, QueueTrigger) and cluster_queue in trigger.cluster_queues:
            decision = decide(snapshot=snapshot, ref=ref, policy=policy, now=now)
            yield Reader(ref=ref, trigger=trigger, decision=decision)


def refs_of_signal(snapshot: Snapshot, signal: str) -> Iterator[TriggerRef]:
    """Give the triggers of ScaledObjects with a signal, by name."""
    for key in sorted(snapshot.scaled_objects):
        for spec in snapshot.scaled_objects[key].triggers:
            if spec.signal == signal:
                yield TriggerRef.of(namespace=key[0], name=key[1], metadata=dict(spec.metadata))


def own_ref(workload: Name) -> TriggerRef:
    """Give a trigger that judges a Workload by the policy, where no ScaledObject does."""
    metadata = {"signal": "idle", "workload": workload[1]}
    return TriggerRef.of(namespace=workload[0], name=f"workload/{workload[1]}", metadata=metadata)


def idle_refs(snapshot: Snapshot, workload: Workload, policy: Policy) -> Iterator[TriggerRef]:
    """Give the idle triggers whose component is of the Workload, WorkerScales' own among them."""
    for ref in (*refs_of_signal(snapshot, "idle"), *default_refs(snapshot)):
        trigger = parse(dict(ref.metadata))
        if ref.namespace != workload.namespace or not isinstance(trigger, IdleTrigger):
            continue
        resolved = resolve(
            snapshot=snapshot,
            namespace=ref.namespace,
            trigger=trigger,
            scaled_object=snapshot.scaled_objects.get(ref.key),
            policy=policy,
            scale=scale_of(snapshot, ref),
        )
        if not isinstance(resolved, Unfound) and any(
            one.uid == workload.uid for one in resolved.component.workloads
        ):
            yield ref
