import pytest

from scaler.core.model import Kind, SourceState
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.sources import Missing, missing
from tests.builders import NOW

ALIVE = SourceState(synced=True, last_alive=NOW)


def ask(state: SourceState | None, kind: Kind = Kind.PODS) -> Missing | None:
    """Ask for one kind in a snapshot that has only that one."""
    sources = {} if state is None else {kind: state}
    snapshot = Snapshot(at=NOW, sources=sources)
    return missing(snapshot=snapshot, kinds=[kind], max_age=300, now=NOW)


def test_a_synced_and_living_source_is_not_missing() -> None:
    """A synced and living source is not missing."""
    assert ask(ALIVE) is None


@pytest.mark.parametrize(
    "state",
    [
        None,
        SourceState(synced=False),
        SourceState(synced=False, last_alive=NOW),
        SourceState(synced=True, last_alive=None),
        SourceState(synced=True, last_alive=NOW, installed=False),
    ],
)
def test_without_a_complete_list_a_kind_is_not_synced(state: SourceState | None) -> None:
    """Without a complete list a kind is not synced."""
    found = ask(state)
    assert found is not None
    assert found.reason is Reason.NOT_SYNCED
    assert "pods" in found.detail


@pytest.mark.parametrize(("age", "stale"), [(300, False), (301, True), (-5, False)])
def test_a_watch_is_stale_after_the_longest_silence(age: float, *, stale: bool) -> None:
    """A watch is stale after the longest silence."""
    found = ask(SourceState(synced=True, last_alive=NOW - age))
    assert (found is not None) is stale
    assert found is None or found.reason is Reason.SOURCE_STALE


def test_the_last_synced_state_answers_through_a_problem() -> None:
    """The last synced state answers through a problem."""
    assert ask(SourceState(synced=True, last_alive=NOW - 60, problem="connection refused")) is None


@pytest.mark.parametrize(
    "state",
    [
        SourceState(synced=False, problem="403 on list pods"),
        SourceState(synced=True, last_alive=NOW - 900, problem="403 on list pods"),
    ],
)
def test_the_problem_is_told_in_the_sources_own_words(state: SourceState) -> None:
    """The problem is told in the sources own words."""
    found = ask(state)
    assert found is not None
    assert "403 on list pods" in found.detail


@pytest.mark.parametrize(
    "kind", [Kind.COHORTS, Kind.ADMISSION_CHECKS, Kind.RAY_CLUSTERS, Kind.JOBS]
)
def test_kinds_that_a_cluster_may_lack_are_not_missing(kind: Kind) -> None:
    """Kinds that a cluster may lack are not missing."""
    assert ask(SourceState(synced=False, installed=False), kind) is None


def test_the_first_kind_in_a_fixed_order_is_named_whatever_the_order_of_asking() -> None:
    """The first kind in a fixed order is named whatever the order of asking."""
    snapshot = Snapshot(at=NOW)
    kinds = [Kind.PODS, Kind.WORKLOADS, Kind.NODES]
    found = [
        missing(snapshot=snapshot, kinds=order, max_age=300, now=NOW)
        for order in (kinds, reversed(kinds))
    ]
    assert found[0] is not None
    assert found[0] == found[1]
    assert found[0].kind is Kind.WORKLOADS


def test_a_clock_that_was_set_back_makes_no_dead_watch_young() -> None:
    """A clock that was set back makes no dead watch young: signs of life to come are none."""
    found = ask(SourceState(synced=True, last_alive=NOW + 301))
    assert found is not None
    assert found.reason is Reason.SOURCE_STALE
    assert ask(SourceState(synced=True, last_alive=NOW + 300)) is None
