"""People hear once of each thing that became of their workers, and of nothing that passes."""

from dataclasses import dataclass, field, replace

import pytest

from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.news import MOST_TRIES, News
from scaler.core.hold.steps import DropMark
from scaler.core.hold.words import Cause, State
from scaler.core.model import TargetRef, TriggerSpec, WorkerScaleStatus
from scaler.core.policy import Policy
from scaler.core.scales import refs_of_scale
from scaler.observer.announce import RETRY_SECONDS, SETTLED_SECONDS, Announcement
from scaler.policyfile import PolicyState
from scaler.store import State as Published
from tests.actuator.stage import MARK, group, make_scale, planned
from tests.builders import (
    NOW,
    make_controlled,
    make_owner,
    make_scaled_object,
    make_snapshot,
    make_workload,
)

TRIGGER = TriggerSpec(type="external-push", metadata=(("signal", "idle"),))


@dataclass(slots=True)
class Written:
    """Keep what was written, unless the API server is down."""

    announcements: list[Announcement] = field(default_factory=list)
    down: bool = False
    tries: int = 0

    def write(self, announcement: Announcement) -> bool:
        """Write one."""
        self.tries += 1
        if not self.down:
            self.announcements.append(announcement)
        return not self.down


class Desk:
    """News that look when told to, about one WorkerScale."""

    def __init__(self, *, state: str = State.RUNNING, reason: str = Cause.AS_WANTED) -> None:
        self.now = NOW
        self.written = Written()
        self.news = News(
            writer=self.written, refs_of=refs_of_scale, clock=lambda: self.now, pace=0.01
        )
        self.scale = replace(
            make_scale(), status=WorkerScaleStatus(size=2, state=state, reason=reason)
        )
        owner = make_owner(uid="ray-uid", kind="RayCluster", name="ray-train")
        scaled_object = make_scaled_object(
            name="so",
            target=TargetRef(
                name="train", kind="WorkerScale", api_version="kueue-gpu-scaler.dev/v1alpha1"
            ),
            triggers=(TRIGGER,),
        )
        self.published = Published(
            sequence=1,
            snapshot=replace(
                make_snapshot(
                    workloads=[make_workload(owners=(owner,))], scaled_objects=[scaled_object]
                ),
                worker_scales={self.scale.key: self.scale},
            ),
            policy=PolicyState(policy=Policy()),
        )

    def see(self, state: State, cause: Cause = Cause.IDLE, *, after: float = 0.0) -> list[str]:
        """Plan, look, and give the reasons of the Events on the WorkerScale so far."""
        self.now += after
        plan = planned(self.scale, state=state, cause=cause, message=f"{state} for {cause}")
        self.news.planned(plan, self.published, self.now)
        return self.look()

    def look(self, *, after: float = 0.0) -> list[str]:
        """Look, and give the same."""
        self.now += after
        self.news.look(now=self.now)
        return [
            each.reason for each in self.written.announcements if each.about.kind == "WorkerScale"
        ]


def test_a_hold_is_told_from_taken_to_woken() -> None:
    """The states in between are no news."""
    desk = Desk()
    desk.see(State.HOLDING)
    assert desk.see(State.HELD) == ["Held"]
    desk.see(State.WAKING, Cause.WANTED)
    assert desk.see(State.RUNNING, Cause.AS_WANTED) == ["Held", "Woken"]


def test_a_release_is_told_from_released_to_woken() -> None:
    """And that it waits in its queue."""
    desk = Desk()
    desk.see(State.RELEASING)
    desk.see(State.RELEASED)
    desk.see(State.QUEUED, Cause.IN_QUEUE)
    assert desk.see(State.RUNNING, Cause.AS_WANTED) == ["Released", "Requeued", "Woken"]


def test_all_that_it_concerns_are_told() -> None:
    """The WorkerScale, its target and the ScaledObject, with the evidence."""
    desk = Desk()
    desk.see(State.HELD)
    assert {(each.about.kind, each.about.name) for each in desk.written.announcements} == {
        ("WorkerScale", "train"),
        ("RayCluster", "ray-train"),
        ("ScaledObject", "so"),
    }
    assert {each.message for each in desk.written.announcements} == {"Held for Idle"}
    assert not any(each.warning for each in desk.written.announcements)


def test_a_targets_uid_is_its_own_where_it_is_read() -> None:
    """An Event without a uid shows up nowhere."""
    desk = Desk()
    target = make_controlled(uid="read-uid", controller_uid=None, name="ray-train")
    snapshot = replace(desk.published.snapshot, owners={"read-uid": target})
    desk.published = replace(desk.published, snapshot=snapshot)
    desk.see(State.HELD)
    uids = {each.about.kind: each.about.uid for each in desk.written.announcements}
    assert uids["RayCluster"] == "read-uid"


def test_a_target_that_is_not_there_is_not_told() -> None:
    """There is nothing to write on."""
    desk = Desk()
    snapshot = replace(desk.published.snapshot, workloads_by_owner_name={})
    desk.published = replace(desk.published, snapshot=snapshot)
    desk.see(State.HELD)
    kinds = [each.about.kind for each in desk.written.announcements]
    assert kinds == ["WorkerScale", "ScaledObject"]


@pytest.mark.parametrize(
    "cause",
    [
        Cause.WORKLOAD_REPLACED,
        Cause.USAGE_LOST,
        Cause.EVICTED_WHILE_HELD,
        Cause.PODS_READY_LOST,
        Cause.NOT_TAKEN,
    ],
)
def test_a_roll_back_is_a_warning_and_told_once(cause: Cause) -> None:
    """However many states it goes through."""
    desk = Desk(state=State.HELD, reason=Cause.IDLE)
    desk.see(State.WAKING, cause)
    assert desk.see(State.RUNNING, cause) == ["RolledBack", "Woken"]
    assert desk.written.announcements[0].warning


def test_a_conflict_is_told_at_once() -> None:
    """Somebody is about to undo it again."""
    desk = Desk(state=State.HELD, reason=Cause.IDLE)
    assert desk.see(State.CONFLICT, Cause.UNDONE) == ["Conflict"]


@pytest.mark.parametrize("state", [State.NOT_IDLE, State.REFUSED])
def test_what_may_pass_is_told_once_it_has_lasted(state: State) -> None:
    """A zero before the next sample, or a source that is read in a moment, are no news."""
    desk = Desk()
    desk.see(state)
    assert desk.look(after=SETTLED_SECONDS - 1) == []
    assert desk.look(after=1) == [str(state)]
    assert desk.see(state, after=100) == [str(state)]


def test_what_passed_is_not_told() -> None:
    """It is over."""
    desk = Desk()
    desk.see(State.NOT_IDLE)
    desk.see(State.HOLDING, after=1)
    assert desk.look(after=SETTLED_SECONDS) == []


def test_another_cause_of_the_same_state_is_news() -> None:
    """A person has another thing to mend."""
    desk = Desk()
    desk.see(State.REFUSED, Cause.NOT_ADMITTED)
    desk.look(after=SETTLED_SECONDS)
    desk.see(State.REFUSED, Cause.RECREATES)
    assert desk.look(after=SETTLED_SECONDS) == ["Refused", "Refused"]


def test_what_the_status_says_was_told_before() -> None:
    """Else each start would tell all of it again."""
    desk = Desk(state=State.HELD, reason=Cause.IDLE)
    assert desk.see(State.HELD) == []
    assert desk.look(after=60) == []


def test_a_write_that_the_api_server_refuses_is_told_once() -> None:
    """The ServiceAccount lacks a right, and a person has to give it."""
    desk = Desk()
    desk.see(State.HOLDING)
    applied = Applied(
        plan=planned(desk.scale),
        outcome=Outcome.FORBIDDEN,
        done=(),
        failed=group(suspend=True),
        message="403: rayclusters is forbidden",
    )
    for _ in range(3):
        desk.news.applied(applied, desk.published)
    assert desk.look() == ["WriteRefused"]
    told = desk.written.announcements[0]
    assert told.warning
    assert told.message == "SetGroup is forbidden: 403: rayclusters is forbidden"


def test_an_event_that_fails_is_tried_again_a_few_times() -> None:
    """News of an hour ago are none."""
    desk = Desk()
    desk.written.down = True
    desk.see(State.HELD)
    tries = desk.written.tries
    assert desk.look(after=RETRY_SECONDS - 1) == []
    assert desk.written.tries == tries
    for _ in range(2 * MOST_TRIES):
        desk.look(after=RETRY_SECONDS)
    assert desk.written.tries == MOST_TRIES * 3
    desk.written.down = False
    assert desk.look(after=RETRY_SECONDS) == []


def test_an_event_that_failed_is_told_when_the_api_server_is_back() -> None:
    """A minute later."""
    desk = Desk()
    desk.written.down = True
    desk.see(State.HELD)
    desk.written.down = False
    assert desk.look(after=RETRY_SECONDS) == ["Held"]


def test_those_that_are_gone_are_forgotten() -> None:
    """A namespace that makes and deletes them must not fill the memory: the same name is new."""
    desk = Desk()
    desk.see(State.HELD)
    desk.published = replace(
        desk.published, snapshot=replace(desk.published.snapshot, worker_scales={})
    )
    first = desk.scale
    for n in range(30):
        desk.scale = replace(first, name=f"other-{n}", uid=f"uid-{n}")
        desk.see(State.RUNNING, Cause.AS_WANTED)
    desk.scale = first
    assert desk.see(State.HELD).count("Held") == 2


def lost(desk: Desk, state: State = State.RESTORING) -> Applied:
    """Build what came of giving back what a WorkerScale that is no more had taken."""
    gone = replace(desk.scale, uid="gone-uid")
    plan = planned(
        gone,
        group(suspend=False),
        state=state,
        cause=Cause.WORKER_SCALE_LOST,
        message="taken for one that is no more",
    )
    return Applied(plan=plan, outcome=Outcome.DONE, done=plan.steps)


def test_what_was_taken_for_a_worker_scale_that_is_no_more_is_told_on_the_target() -> None:
    """There is nobody else to tell, not even one that was made anew by that name."""
    desk = Desk()
    desk.news.applied(lost(desk), desk.published)
    desk.look()
    (event,) = desk.written.announcements
    assert (event.about.kind, event.about.uid) == ("RayCluster", "ray-uid")
    assert (event.reason, event.warning) == ("RolledBack", True)
    assert event.message == "taken for one that is no more"


def test_an_orphan_that_is_left_alone_is_told_as_a_conflict() -> None:
    """Another writer wants it so."""
    desk = Desk()
    desk.news.applied(replace(lost(desk, State.CONFLICT), done=()), desk.published)
    desk.look()
    assert [one.reason for one in desk.written.announcements] == ["Conflict"]


def test_an_orphan_that_may_not_be_written_is_told() -> None:
    """A person has to mend it."""
    desk = Desk()
    step = group(suspend=False)
    refused = replace(
        lost(desk), outcome=Outcome.FORBIDDEN, done=(), failed=step, message="403: forbidden"
    )
    desk.news.applied(refused, desk.published)
    desk.look()
    (event,) = desk.written.announcements
    assert event.reason == "WriteRefused"
    assert event.message == "SetGroup is forbidden: 403: forbidden"


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.STALE, Outcome.UNREACHABLE])
def test_of_an_orphan_nothing_is_told_that_was_not_given_back(outcome: Outcome) -> None:
    """Nor that just a mark was taken off."""
    desk = Desk()
    mark = DropMark(kind="RayCluster", object=("ml", "ray-train"), mark=MARK)
    desk.news.applied(replace(lost(desk), outcome=outcome, done=(mark,)), desk.published)
    desk.look()
    assert desk.written.announcements == []
