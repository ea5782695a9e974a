"""A queue trigger whose value is to be changed."""

from dataclasses import dataclass

from scaler.core.decision import PoolEvidence
from scaler.core.demand.need import Need
from scaler.core.model import ScaledObject
from scaler.core.queue.nodes import QueueQuestion
from scaler.core.queue.waiting import demand_of
from scaler.core.remedy.what_if import Asked
from scaler.core.size import Size
from scaler.core.trigger import QueueTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """A queue trigger and what it was decided on."""

    asked: Asked
    trigger: QueueTrigger

    @property
    def scaled_object(self) -> ScaledObject | None:
        """Give the ScaledObject of the trigger."""
        return self.asked.snapshot.scaled_objects.get(self.asked.ref.key)

    @property
    def pool(self) -> PoolEvidence | None:
        """Give how the pool's number of nodes came about."""
        queue = self.asked.decision.queue
        return None if queue is None else queue.pool

    @property
    def question(self) -> QueueQuestion:
        """Give it as the decision asked it."""
        decision = self.asked.decision
        return QueueQuestion(
            snapshot=self.asked.snapshot,
            ref=self.asked.ref,
            trigger=self.trigger,
            policy=self.asked.policy,
            now=self.asked.now,
            scaled_object=self.scaled_object,
            size=Size(value=decision.size, running=decision.running, detail=""),
        )

    @property
    def needs(self) -> tuple[Need, ...]:
        """Give the Workloads that need a place, before scaleUpDelay."""
        return demand_of(self.question, flavor=self.trigger.flavor).needs
