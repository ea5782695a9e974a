"""An actuator that looks when told to, at WorkerScales whose watch can lag behind its writes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from scaler.actuator.actuator import Actuator
from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.inputs import RefsOf
from scaler.actuator.parts import Parts
from scaler.core.decision import Decision, Status
from scaler.core.hold.steps import (
    Plan,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.hold.words import Cause, State
from scaler.core.model import (
    Controlled,
    Instant,
    Mark,
    Mode,
    Name,
    ScaledObject,
    WorkerScale,
    WorkerScaleStatus,
    WorkerTarget,
    Workload,
)
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.scales import refs_of_scale
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.kube.api import ApiError, NoAnswerError
from scaler.policyfile import PolicyState
from scaler.store import State as Published
from scaler.store import Store
from tests.builders import NOW, make_snapshot

MARK = Mark(component="gpu", by="train", uid="ws-uid", was="false")


def make_scale(name: str = "train", *, namespace: str = "ml", replicas: int = 0) -> WorkerScale:
    """Build a WorkerScale on worker group `gpu` of RayCluster `ray`."""
    return WorkerScale(
        namespace=namespace,
        name=name,
        uid=f"{name}-uid",
        created=NOW - 3600,
        generation=1,
        resource_version="10",
        target=WorkerTarget(
            api_version="ray.io/v1", kind="RayCluster", name=f"ray-{name}", component="gpu"
        ),
        mode=Mode.HOLD,
        replicas=replicas,
        status=WorkerScaleStatus(size=2, state=State.RUNNING, reason=Cause.AS_WANTED),
    )


def group(*, suspend: bool, name: str = "ray-train") -> SetGroup:
    """Build the step that takes or gives back the group."""
    cluster = ("ml", name)
    return SetGroup(
        cluster=cluster, uid=f"{name}-uid", index=0, group="gpu", suspend=suspend, mark=MARK
    )


def planned(
    scale: WorkerScale,
    *steps: Step,
    state: State = State.HOLDING,
    cause: Cause = Cause.IDLE,
    message: str = "as the test says",
    status: WorkerScaleStatus | None = None,
    look_again_in: float | None = None,
) -> Plan:
    """Build a plan."""
    return Plan(
        scale=scale,
        target=scale.target,
        state=state,
        cause=cause,
        message=message,
        steps=steps,
        status=status or scale.status,
        look_again_in=look_again_in,
    )


def decided(scale: WorkerScale, reason: Reason = Reason.IDLE, *, detail: str = "") -> Decision:
    """Build the Decision about a WorkerScale: idle, or unknown for any other reason."""
    idle = reason is Reason.IDLE
    return Decision(
        namespace=scale.namespace,
        name=f"workerscale/{scale.name}",
        metric="kueue-idle",
        status=Status.OK if idle else Status.HOLD,
        active=False if idle else None,
        value=0 if idle else None,
        reason=reason,
        detail=detail,
        at=NOW,
    )


class Kept:
    """The API server's side of WorkerScales and targets: versions guard, failures are scripted."""

    def __init__(self) -> None:
        self.scales: dict[Name, WorkerScale] = {}
        self.written: list[tuple[str, Step]] = []
        """(WorkerScale, step) of each write that came through."""
        self.tries = 0
        self.failures: list[ApiError | NoAnswerError] = []
        """Raised one a write, first come, first served."""
        self.before_write: Callable[[], None] = lambda: None
        self.after_write: Callable[[Step], None] = lambda _step: None

    def advance(self, scale: WorkerScale, step: Step) -> WorkerScale:
        """Write one step, as the API server would."""
        self.before_write()
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        changed = self._changed(scale, step)
        self.written.append((scale.name, step))
        self.after_write(step)
        return changed

    def steps(self, name: str = "train") -> list[str]:
        """Name the steps that were written for a WorkerScale."""
        return [type(step).__name__ for scale, step in self.written if scale == name]

    def _changed(self, scale: WorkerScale, step: Step) -> WorkerScale:
        if not isinstance(step, SetReplicas | SetFinalizer | WriteStatus):
            return scale
        kept = self.scales.get(scale.key)
        if kept is None:
            raise ApiError(404, "not found")
        if kept.resource_version != scale.resource_version:
            raise ApiError(409, "the object has been modified")
        match step:
            case SetReplicas():
                kept = replace(kept, replicas=step.replicas, generation=kept.generation + 1)
            case SetFinalizer():
                kept = replace(kept, finalized=step.present)
            case WriteStatus():
                kept = replace(kept, status=step.status)
        version = str(int(kept.resource_version) + 1)
        self.scales[scale.key] = replace(kept, resource_version=version)
        return self.scales[scale.key]


@dataclass(slots=True)
class Told:
    """A witness that keeps what it is told."""

    plans: list[Plan] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    applied_plans: list[Applied] = field(default_factory=list)

    def planned(self, plan: Plan, state: Published, now: Instant) -> None:
        """Keep a plan."""
        del state, now
        self.plans.append(plan)

    def wrote(self, step: Step, outcome: Outcome) -> None:
        """Keep an outcome."""
        del step
        self.outcomes.append(outcome)

    def applied(self, applied: Applied, state: Published) -> None:
        """Keep what came of a plan."""
        del state
        self.applied_plans.append(applied)


@dataclass(slots=True)
class Lead:
    """Leadership that the test gives and takes."""

    leading: bool = True


class Stage:
    """The actuator with scripted plans and a clock that the test moves."""

    def __init__(self, *scales: WorkerScale) -> None:
        self.passed = 0.0
        self.kept = Kept()
        self.kept.scales = {scale.key: scale for scale in scales}
        self.lead = Lead()
        self.told = Told()
        self.asked: list[tuple[str, tuple[Reason, ...]]] = []
        """(WorkerScale, reasons of the Decisions) of each planning."""
        self.script: Callable[[WorkerScale], Plan] = planned
        self.refs_of: RefsOf = refs_of_scale
        self.store = Store(policy=PolicyState(policy=Policy()), at=NOW, elapsed=lambda: self.passed)
        self.base = make_snapshot()
        self.decisions: dict[Name, Decision] = {}
        self.actuator = Actuator(
            Parts(
                store=self.store,
                plan=self._plan,
                refs_of=self._refs_of,
                writer=self.kept,
                leadership=self.lead,
                witnesses=(self.told,),
            ),
            clock=lambda: NOW + self.passed,
            elapsed=lambda: self.passed,
        )
        self.show()

    def _refs_of(self, snapshot: Snapshot, scale: WorkerScale) -> Iterable[TriggerRef]:
        return self.refs_of(snapshot, scale)

    def show(
        self,
        *,
        workloads: Iterable[Workload] = (),
        owners: Iterable[Controlled] = (),
        scaled_objects: Iterable[ScaledObject] = (),
    ) -> None:
        """Let the watches catch up: publish all that there is now."""
        self.base = make_snapshot(workloads=workloads, owners=owners, scaled_objects=scaled_objects)
        self.publish(replace(self.base, worker_scales=dict(self.kept.scales)))

    def publish(self, snapshot: Snapshot | None = None) -> None:
        """Publish a Snapshot, or the last one again, with a Decision for each WorkerScale."""
        snapshot = snapshot or self.store.latest().snapshot
        decisions = {
            ref: self.decisions.get(scale.key, decided(scale))
            for scale in snapshot.worker_scales.values()
            for ref in refs_of_scale(snapshot, scale)
        }
        self.store.publish(
            snapshot=snapshot,
            policy=self.store.latest().policy,
            decisions=decisions,
            changed=frozenset(decisions),
        )

    def look(self, *, after: float = 0.0) -> list[str]:
        """Look, and name the steps that were written by then."""
        self.passed += after
        self.actuator.look()
        return self.kept.steps()

    @property
    def plannings(self) -> int:
        """Count how often anything was planned."""
        return len(self.asked)

    def _plan(
        self,
        *,
        snapshot: Snapshot,
        scale: WorkerScale,
        decisions: Sequence[Decision],
        policy: Policy,
        now: Instant,
    ) -> Plan:
        del snapshot, policy, now
        self.asked.append((scale.name, tuple(one.reason for one in decisions)))
        return self.script(scale)


def taking(scale: WorkerScale) -> Plan:
    """Plan a whole hold from its first write, or what of it is left."""
    status = replace(scale.status, state=State.HOLDING, reason=Cause.IDLE)
    steps: list[Step] = [] if scale.finalized else [SetFinalizer(present=True)]
    if scale.status != status:
        steps.append(WriteStatus(status=status))
    return planned(scale, *steps, group(suspend=True, name=scale.target.name), status=status)


def deactivate(name: str = "wl") -> SetActive:
    """Build the step that releases a Workload."""
    return SetActive(workload=("ml", name), uid="uid", active=False, by="train")
