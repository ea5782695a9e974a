"""People hear when HOLD begins and when it ends, and of nothing that passes by itself."""

from dataclasses import dataclass, field, replace

from scaler.core.decision import Decision, Status
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.trigger import Problem, TriggerRef
from scaler.observer.announce import (
    FAILURES_A_LOOK,
    RETRY_SECONDS,
    SETTLED_SECONDS,
    About,
    Announcement,
    Announcer,
)
from scaler.policyfile import PolicyState
from scaler.store import Store
from tests.builders import NOW, make_scaled_object, make_snapshot

POD = About.pod(namespace="scaling", name="scaler-0", uid="pod-uid")
REF = TriggerRef.of(namespace="ml", name="so", metadata={"signal": "queue"})


@dataclass(slots=True)
class Written:
    """Keep what was announced."""

    announcements: list[Announcement] = field(default_factory=list)

    down: bool = False
    refused: int = 0

    def write(self, announcement: Announcement) -> bool:
        """Keep one, unless the API server is down."""
        self.refused += self.down
        if not self.down:
            self.announcements.append(announcement)
        return not self.down

    @property
    def reasons(self) -> list[str]:
        """Give the reasons in order."""
        return [announcement.reason for announcement in self.announcements]


class Stage:
    """An announcer that looks when told to."""

    def __init__(self) -> None:
        self.written = Written()
        self.store = Store(policy=PolicyState(policy=Policy()), at=NOW)
        self.now = NOW
        self.announcer = Announcer(
            store=self.store,
            writer=self.written,
            clock=lambda: self.now,
            pod=POD,
            pace=0.0,
        )

    def see(
        self, reason: Reason, *, after: float = 0.0, known: bool = True, others: int = 0
    ) -> list[str]:
        """Publish a Decision with that reason, look, and give all that was announced."""
        self.now += after
        hold = reason in (Reason.NOT_SYNCED, Reason.PROMETHEUS_FAILED)
        decision = Decision(
            namespace="ml",
            name="so",
            metric="kueue-queue",
            status=Status.HOLD if hold else Status.OK,
            active=None if hold else True,
            value=None if hold else 1,
            reason=reason,
            detail="as the test says",
            at=self.now,
        )
        refs = [
            REF,
            *(replace(REF, metadata=frozenset({("signal", str(n))})) for n in range(others)),
        ]
        self.store.publish(
            snapshot=make_snapshot(scaled_objects=[make_scaled_object()] if known else []),
            policy=self.store.latest().policy,
            decisions=dict.fromkeys(refs, decision),
            changed=frozenset(refs),
        )
        self.announcer.look(now=self.now)
        return self.written.reasons


def test_a_hold_is_told_once_it_has_lasted_and_once_it_ends() -> None:
    """KEDA shows it as healthy; the Event is how a team sees it with kubectl describe."""
    stage = Stage()
    assert stage.see(Reason.PROMETHEUS_FAILED) == []
    assert stage.see(Reason.PROMETHEUS_FAILED, after=SETTLED_SECONDS) == ["Hold"]
    assert stage.see(Reason.PROMETHEUS_FAILED, after=300) == ["Hold"]
    assert stage.see(Reason.DEMAND, after=1) == ["Hold", "HoldEnded"]
    began, ended = stage.written.announcements
    assert began.warning
    assert not ended.warning
    assert "PrometheusFailed" in began.message


def test_a_start_or_a_reconnect_is_no_news() -> None:
    """Else every restart would write an Event for every ScaledObject."""
    stage = Stage()
    stage.see(Reason.NOT_SYNCED)
    stage.see(Reason.DEMAND, after=SETTLED_SECONDS - 1)
    assert stage.see(Reason.DEMAND, after=60) == []


def test_another_cause_of_the_same_hold_is_no_second_event() -> None:
    """The Event says that it holds; the causes follow in metrics and on the page."""
    stage = Stage()
    stage.see(Reason.NOT_SYNCED)
    stage.see(Reason.NOT_SYNCED, after=SETTLED_SECONDS)
    assert stage.see(Reason.PROMETHEUS_FAILED, after=SETTLED_SECONDS) == ["Hold"]


def test_a_change_that_the_hpa_would_swallow_is_told() -> None:
    """Nothing else would say why a pool of twenty does not become one of twenty-one."""
    stage = Stage()
    stage.see(Reason.SWALLOWED)
    assert stage.see(Reason.SWALLOWED, after=SETTLED_SECONDS) == ["Swallowed"]
    assert stage.see(Reason.DEMAND, after=60) == ["Swallowed"]


def test_a_trigger_without_a_scaled_object_is_told_nobody() -> None:
    """There is no object to write the Event on."""
    stage = Stage()
    stage.see(Reason.NOT_SYNCED, known=False)
    assert stage.see(Reason.NOT_SYNCED, after=60, known=False) == []


def test_what_could_not_be_told_is_told_later() -> None:
    """The API server is down when most holds begin: the Event comes once it is back."""
    stage = Stage()
    stage.written.down = True
    stage.see(Reason.NOT_SYNCED)
    stage.see(Reason.NOT_SYNCED, after=SETTLED_SECONDS)
    stage.written.down = False
    assert stage.see(Reason.NOT_SYNCED, after=1) == [], "not at once: each trial costs a time-out"
    assert stage.see(Reason.NOT_SYNCED, after=RETRY_SECONDS) == ["Hold"]
    stage.written.down = True
    stage.see(Reason.DEMAND, after=1)
    stage.written.down = False
    assert stage.see(Reason.DEMAND, after=RETRY_SECONDS) == ["Hold", "HoldEnded"]


def test_a_silent_api_server_is_not_asked_for_every_trigger() -> None:
    """A thousand triggers that begin to hold at once would else wait for a thousand time-outs."""
    stage = Stage()
    stage.written.down = True
    for _ in range(2):
        stage.see(Reason.NOT_SYNCED, others=50, after=SETTLED_SECONDS)
    assert stage.written.refused == FAILURES_A_LOOK


def test_a_refused_policy_is_told_on_our_own_pod_once_and_so_is_its_end() -> None:
    """Nobody has to read logs to see that a change of the ConfigMap did not take."""
    stage = Stage()
    problem = Problem(path="defaults.idleAfter", value="abc", allowed="a duration is")

    def refused(*problems: Problem) -> list[tuple[str, str, bool]]:
        stage.store.publish(
            snapshot=make_snapshot(),
            policy=PolicyState(policy=Policy(), problems=problems),
            decisions={},
            changed=frozenset(),
        )
        stage.announcer.look(now=NOW)
        told = stage.written.announcements
        return [(one.about.kind, one.reason, "defaults.idleAfter" in one.message) for one in told]

    assert refused() == []
    assert refused(problem) == refused(problem) == [("Pod", "PolicyRefused", True)]
    assert refused()[1:] == [("Pod", "PolicyLoaded", False)]


def test_a_refused_policy_that_could_not_be_told_waits_like_any_other_event() -> None:
    """At every look of a silent API server it would cost the looks of all triggers a time-out."""
    stage = Stage()
    problem = Problem(path="defaults.idleAfter", value="abc", allowed="a duration is")
    stage.store.publish(
        snapshot=make_snapshot(),
        policy=PolicyState(policy=Policy(), problems=(problem,)),
        decisions={},
        changed=frozenset(),
    )
    stage.written.down = True
    stage.announcer.look(now=NOW)
    stage.announcer.look(now=NOW + RETRY_SECONDS - 1)
    assert stage.written.refused == 1
    stage.written.down = False
    stage.announcer.look(now=NOW + RETRY_SECONDS)
    assert stage.written.reasons == ["PolicyRefused"]
