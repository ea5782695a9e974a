"""What a WorkerScale's target is made of: pieces, each of which is taken and given by one write."""

from dataclasses import dataclass
from enum import StrEnum

from scaler.core.hold.owned import marked_by
from scaler.core.hold.steps import Step
from scaler.core.hold.words import Cause
from scaler.core.model import Controlled, Mark, WorkerScale, Workload
from scaler.core.snapshot import Snapshot


class Grip(StrEnum):
    """Whose hand a piece is in."""

    FREE = "free"
    """Neither at zero nor marked."""
    OURS = "ours"
    """At zero, under our mark."""
    UNDONE = "undone"
    """Our mark is there, zero is not: another writer set it back."""
    ZEROED = "zeroed"
    """At zero without a mark."""
    OTHERS = "others"
    """Under the mark of another WorkerScale that is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why something is not done."""

    cause: Cause
    message: str
    """With what the user can do instead, where there is something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One worker group, child Job, Workload or Notebook, and what would be written to it."""

    uid: str
    label: str
    """What people call it."""
    grip: Grip
    take: tuple[Step, ...]
    """Empty where there is nothing left to take."""
    give: tuple[Step, ...]
    drop: tuple[Step, ...]
    """Takes the mark off alone; empty where there is none."""
    suspended: bool = False
    """Kueue suspended its owner: giving it back starts no pod."""
    behind: str = ""
    """How far its controller stays behind the last change; empty where it follows."""
    forbids: Refusal | None = None
    """What in its spec says that it must not be taken."""

    @property
    def marked(self) -> bool:
        """Say whether it bears our mark."""
        return self.grip in (Grip.OURS, Grip.UNDONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a target's module looks for its pieces with."""

    snapshot: Snapshot
    scale: WorkerScale
    workload: Workload | None
    """The one that belongs to the target."""

    @property
    def component(self) -> str:
        """Give the podset's name as marks have it."""
        return (self.scale.target.component or "").lower()

    def marked(self, kind: str) -> tuple[Controlled, ...]:
        """Give the objects of a kind that bear the mark of this WorkerScale."""
        return marked_by(self.snapshot, self.scale.key, component=self.component, kind=kind)

    @property
    def owner_uids(self) -> frozenset[str]:
        """Give the target's UIDs as its Workload knows them."""
        target = self.scale.target
        owners = () if self.workload is None else self.workload.owners
        return frozenset(
            one.uid for one in owners if one.kind == target.kind and one.name == target.name
        )

    @property
    def held(self) -> dict[str, int]:
        """Give the podsets that are away, with their pods."""
        hold = self.scale.status.hold
        return {} if hold is None else dict(hold.pod_sets)

    def mark(self, *, component: str, was: str) -> Mark:
        """Build the mark of this WorkerScale."""
        return Mark(component=component, by=self.scale.name, uid=self.scale.uid, was=was)

    def grip(self, mark: Mark | None, *, zero: bool) -> Grip:
        """Tell whose hand a piece is in; marks of WorkerScales that are no more are ours too.

        Nobody else would ever give such a piece back.
        """
        if mark is None:
            return Grip.ZEROED if zero else Grip.FREE
        if self._of_another(mark):
            return Grip.OTHERS
        return Grip.OURS if zero else Grip.UNDONE

    def _of_another(self, mark: Mark) -> bool:
        if mark.by == self.scale.name:
            return False
        other = self.snapshot.worker_scales.get((self.scale.namespace, mark.by))
        return other is not None and mark.uid in ("", other.uid)
