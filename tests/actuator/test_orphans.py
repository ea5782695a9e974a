"""What a WorkerScale that is no more had taken is given back, once it surely is no more."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from scaler.actuator import orphans as actuator_orphans
from scaler.actuator.apply import Applied, Outcome
from scaler.actuator.orphans import (
    CALM_SECONDS,
    FORBIDDEN_SECONDS,
    GAP_SECONDS,
    MOST_TIMES,
    SEARCH_SECONDS,
)
from scaler.core.hold.sought import Sought
from scaler.core.hold.steps import Plan, SetGroup, Step
from scaler.core.hold.targets import ray_cluster
from scaler.core.hold.words import Cause, State
from scaler.core.model import (
    Controlled,
    Kind,
    Mark,
    RayClusterPart,
    SourceState,
    WorkerGroup,
)
from scaler.core.policy import Policy, WorkerScales
from scaler.kube.api import ApiError, NoAnswerError
from scaler.policyfile import PolicyState
from tests.actuator.stage import Stage, make_scale
from tests.builders import NOW, make_snapshot

BACK = ["SetGroup"]
LASTING_SECONDS = WorkerScales().orphan_after
UNREAD = SourceState(synced=False, last_alive=None)


def held(name: str) -> Controlled:
    """Build a RayCluster whose group `gpu` is held for WorkerScale `train` that is no more."""
    return Controlled(
        uid=f"{name}-uid",
        kind="RayCluster",
        namespace="ml",
        name=name,
        controller_uid=None,
        marks=(Mark(component="gpu", by="train", uid="lost", was="false"),),
        part=RayClusterPart(groups=(WorkerGroup(name="gpu", pods=2, suspended=True),)),
    )


class Lost(Stage):
    """An actuator, and RayClusters that nobody speaks for; what is written is seen at once."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.clusters = {name: held(name) for name in names or ("ray-train",)}
        self.sources: dict[Kind, SourceState] = {}
        self.kept.after_write = self._seen

    def wait(self, seconds: float, *, every: float = SEARCH_SECONDS) -> list[str]:
        """Let time pass, look on the way and at its end, and name what was written by then."""
        until = self.passed + seconds
        while self.passed < until:
            self.passed = min(self.passed + every, until)
            self.see()
            self.actuator.look()
        return self.kept.steps()

    def see(self) -> None:
        """Publish what there is now."""
        made = make_snapshot(
            at=NOW + self.passed, owners=self.clusters.values(), sources=self.sources
        )
        self.publish(replace(made, worker_scales=dict(self.kept.scales)))

    @property
    def marked(self) -> list[str]:
        """Name the clusters that bear a mark."""
        return [name for name, one in self.clusters.items() if one.marks]

    @property
    def outcomes(self) -> list[tuple[State, Cause, Outcome]]:
        """Give what witnesses were told."""
        return [
            (one.plan.state, one.plan.cause, one.outcome)
            for one in self.told.applied_plans
            if one.done or one.failed or one.plan.state is State.CONFLICT
        ]

    def _seen(self, step: Step) -> None:
        if isinstance(step, SetGroup):
            name = step.cluster[1]
            groups = (WorkerGroup(name="gpu", pods=2, suspended=step.suspend),)
            self.clusters[name] = replace(
                self.clusters[name], marks=(), part=RayClusterPart(groups=groups)
            )


def test_the_policy_says_for_how_long_a_worker_scale_has_to_be_gone() -> None:
    """More where a backup brings targets back long before their WorkerScales."""
    stage = Lost()
    policy = Policy(worker_scales=WorkerScales(orphan_after=10 * LASTING_SECONDS))
    stage.store.publish(
        snapshot=stage.base,
        policy=PolicyState(policy=policy),
        decisions={},
        changed=frozenset(),
    )
    assert stage.wait(10 * LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


def test_what_has_been_an_orphan_for_a_while_is_given_back_and_says_so() -> None:
    """Not before: its WorkerScale may just be on its way."""
    stage = Lost()
    assert stage.wait(LASTING_SECONDS) == []
    with capture_logs() as logs:
        assert stage.wait(SEARCH_SECONDS) == BACK
    assert stage.marked == []
    assert stage.outcomes == [(State.RESTORING, Cause.WORKER_SCALE_LOST, Outcome.DONE)]
    (entry,) = (one for one in logs if one["event"] == "orphan given back")
    assert (entry["log_level"], entry["worker_scale"]) == ("warning", "train")
    assert "WorkerScale/train (UID lost), which is no more" in entry["message"]
    assert stage.wait(2 * LASTING_SECONDS) == BACK


def test_a_follower_gives_nothing_back_and_a_new_leader_waits_by_itself() -> None:
    """What another one saw is not known."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    stage.lead.leading = False
    assert stage.wait(SEARCH_SECONDS) == []
    stage.lead.leading = True
    assert stage.wait(LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


@pytest.mark.parametrize("kind", [Kind.WORKER_SCALES, Kind.RAY_CLUSTERS, Kind.WORKLOADS])
def test_nothing_is_given_back_while_a_source_is_missing_and_the_wait_begins_anew(
    kind: Kind,
) -> None:
    """A WorkerScale that is not read may speak for it; a watch that comes back has to be seen."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    stage.sources = {kind: UNREAD}
    assert stage.wait(2 * LASTING_SECONDS) == []
    stage.sources = {}
    assert stage.wait(LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


def test_a_source_that_is_missing_between_two_searches_ends_the_wait_too() -> None:
    """A look is enough to see it."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    stage.sources = {Kind.WORKER_SCALES: UNREAD}
    stage.wait(1, every=1)
    stage.sources = {}
    assert stage.wait(LASTING_SECONDS) == []


def test_a_definition_that_is_gone_gives_nothing_back() -> None:
    """Without the kind nobody knows what was held."""
    stage = Lost()
    gone = SourceState(synced=False, installed=False, last_alive=None)
    stage.sources = {Kind.WORKER_SCALES: gone}
    assert stage.wait(3 * LASTING_SECONDS) == []


def test_what_was_not_searched_for_long_has_to_last_anew() -> None:
    """As where the process was stopped for a while."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    assert stage.wait(GAP_SECONDS, every=GAP_SECONDS) == []
    assert stage.wait(LASTING_SECONDS - SEARCH_SECONDS) == []


def test_a_worker_scale_that_is_made_anew_is_not_overtaken() -> None:
    """It speaks for its target under another UID, and when it goes the wait begins again."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    anew = make_scale()
    stage.kept.scales[anew.key] = anew
    assert stage.wait(2 * LASTING_SECONDS) == []
    stage.kept.scales.clear()
    assert stage.wait(LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


def test_a_mark_that_comes_to_others_has_to_last_by_itself() -> None:
    """A backup may bring the target back before its WorkerScale."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    stage.clusters["ray-train"] = replace(stage.clusters["ray-train"], uid="restored")
    assert stage.wait(LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


@pytest.mark.parametrize(
    "failure",
    [ApiError(403, "forbidden"), ApiError(422, "a test failed"), ApiError(500, "broken")],
    ids=["forbidden", "stale", "failed"],
)
def test_one_that_can_not_be_written_hurts_no_other(failure: ApiError) -> None:
    """It is tried again after the others."""
    stage = Lost("a", "b", "c")
    stage.kept.failures = [failure]
    stage.wait(LASTING_SECONDS + SEARCH_SECONDS)
    assert stage.marked == ["a"]
    stage.wait(FORBIDDEN_SECONDS + SEARCH_SECONDS)
    assert stage.marked == []


def test_what_is_forbidden_is_tried_again_each_minute() -> None:
    """A person has to mend it."""
    stage = Lost()
    stage.kept.failures = [ApiError(403, "forbidden") for _ in range(2)]
    with capture_logs() as logs:
        stage.wait(LASTING_SECONDS + FORBIDDEN_SECONDS)
        assert stage.kept.tries == 1
        stage.wait(FORBIDDEN_SECONDS)
    assert stage.kept.tries == 2
    assert [one["event"] for one in logs].count("not applied") == 2
    assert [one["log_level"] for one in logs if one["event"] == "not applied"].count("warning") == 1
    assert stage.wait(FORBIDDEN_SECONDS) == BACK


def test_one_that_can_not_be_planned_hurts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the looks to come."""
    plain = ray_cluster.group_in

    def broken(sought: Sought, cluster: Controlled) -> object:
        if cluster.name == "a":
            raise ZeroDivisionError
        return plain(sought, cluster)

    monkeypatch.setattr(ray_cluster, "group_in", broken)
    stage = Lost("a", "b")
    with capture_logs() as logs:
        stage.wait(LASTING_SECONDS + 3 * SEARCH_SECONDS)
    assert stage.marked == ["a"]
    assert [one["event"] for one in logs].count("giving back failed") == 1


def test_a_search_that_fails_ends_no_look_and_finds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was not found for long has to last anew."""
    stage = Lost()
    stage.wait(LASTING_SECONDS)
    with monkeypatch.context() as patched, capture_logs() as logs:
        patched.setattr(actuator_orphans, "orphans", lambda *_, **__: 1 // 0)
        assert stage.wait(GAP_SECONDS) == []
    assert {one["event"] for one in logs} == {"search for orphans failed"}
    assert stage.wait(LASTING_SECONDS) == []
    assert stage.wait(SEARCH_SECONDS) == BACK


def test_an_api_server_out_of_reach_is_left_in_peace() -> None:
    """No other write would fare better."""
    stage = Lost("a", "b", "c")
    stage.kept.failures = [NoAnswerError("no answer") for _ in range(3)]
    stage.wait(LASTING_SECONDS + SEARCH_SECONDS)
    assert stage.kept.tries == 1
    stage.wait(2 * LASTING_SECONDS)
    assert stage.marked == []


def test_a_mark_that_comes_back_again_and_again_is_left_alone() -> None:
    """Nobody is fought; and it is said once."""
    stage = Lost()
    with capture_logs() as logs:
        for _ in range(MOST_TIMES + 3):
            stage.wait(2 * LASTING_SECONDS)
            stage.clusters = {"ray-train": replace(held("ray-train"), uid=f"uid-{stage.passed}")}
    assert stage.kept.steps() == BACK * MOST_TIMES
    assert stage.outcomes[MOST_TIMES:] == [(State.CONFLICT, Cause.WORKER_SCALE_LOST, Outcome.DONE)]
    assert [one["event"] for one in logs].count("orphan left alone") == 1


def test_one_that_stays_marked_is_left_alone_for_good() -> None:
    """Time alone opens nothing."""
    stage = Lost()
    for _ in range(MOST_TIMES):
        stage.wait(2 * LASTING_SECONDS)
        stage.clusters = {"ray-train": held("ray-train")}
    assert stage.wait(2 * CALM_SECONDS) == BACK * MOST_TIMES


def test_one_that_was_left_alone_is_so_when_it_comes_back_soon() -> None:
    """The hour is counted from when it was last seen."""
    stage = Lost()
    for _ in range(MOST_TIMES):
        stage.wait(2 * LASTING_SECONDS)
        stage.clusters = {"ray-train": held("ray-train")}
    stage.wait(2 * CALM_SECONDS)
    stage.clusters = {}
    stage.wait(CALM_SECONDS / 2)
    stage.clusters = {"ray-train": held("ray-train")}
    assert stage.wait(2 * LASTING_SECONDS) == BACK * MOST_TIMES


def test_what_is_brought_back_at_once_has_to_last_again() -> None:
    """On the same object too: the mark that is seen may also be an old one."""
    stage = Lost()
    assert stage.wait(LASTING_SECONDS + SEARCH_SECONDS) == BACK
    stage.clusters = {"ray-train": held("ray-train")}
    assert stage.wait(LASTING_SECONDS) == BACK
    assert stage.wait(SEARCH_SECONDS) == BACK * 2


def test_what_was_brought_back_long_ago_is_forgotten() -> None:
    """The next one is no quarrel."""
    stage = Lost()
    for _ in range(MOST_TIMES):
        stage.wait(2 * LASTING_SECONDS)
        stage.clusters = {"ray-train": held("ray-train")}
    stage.clusters = {}
    stage.wait(CALM_SECONDS + SEARCH_SECONDS)
    stage.clusters = {"ray-train": held("ray-train")}
    assert stage.wait(2 * LASTING_SECONDS) == BACK * (MOST_TIMES + 1)


def test_witnesses_hear_of_each_by_the_name_that_its_mark_has() -> None:
    """Several at once are several."""
    stage = Lost("a", "b")
    stage.wait(LASTING_SECONDS + SEARCH_SECONDS)
    plans = _done(stage.told.applied_plans)
    assert [(one.scale.name, str(one.target)) for one in plans] == [
        ("train", "RayCluster/a"),
        ("train", "RayCluster/b"),
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["wait", "unread", "read", "follow", "lead", "anew", "gone", "fail"]),
            st.sampled_from([1.0, 5.0, 20.0, 61.0]),
        ),
        max_size=30,
    )
)
def test_law_it_is_given_back_only_after_a_minute_in_which_nothing_spoke_against_it(
    moves: list[tuple[str, float]],
) -> None:
    """And at most twice by one leader, whatever happens."""
    stage, anew = Lost(), make_scale()
    since, waited, leaders = stage.passed, list[float](), 1
    stage.kept.before_write = lambda: waited.append(stage.passed - since)
    for move, seconds in moves:
        match move:
            case "unread" | "read":
                stage.sources = {Kind.WORKER_SCALES: UNREAD} if move == "unread" else {}
            case "follow" | "lead":
                stage.lead.leading = move == "lead"
                leaders += move == "lead"
            case "anew":
                stage.kept.scales[anew.key] = anew
            case "gone":
                stage.kept.scales.clear()
            case "fail":
                stage.kept.failures = [ApiError(500, "broken")]
            case _:
                stage.clusters = {"ray-train": held("ray-train")}
        # What comes and goes between two searches is not seen.
        stage.wait(seconds + SEARCH_SECONDS)
        if stage.sources or not stage.lead.leading or stage.kept.scales or not stage.marked:
            since = stage.passed
    assert all(seconds >= LASTING_SECONDS for seconds in waited)
    assert len(stage.kept.steps()) <= MOST_TIMES * leaders


def _done(applied: Iterable[Applied]) -> list[Plan]:
    return [one.plan for one in applied if one.done]
