"""Free quota in cohort trees, by hand and by law."""

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.demand.cohorts import Ledger, trees
from scaler.core.model import ClusterQueue, Cohort, Quota
from tests.builders import GPU, make_cluster_queue, make_cohort, make_snapshot

SLOT = ("gpu", GPU)


def _ledger(*queues: ClusterQueue, cohorts: tuple[Cohort, ...] = ()) -> Ledger:
    snapshot = make_snapshot(cluster_queues=queues, cohorts=cohorts)
    return Ledger(
        tree=trees(snapshot)[queues[0].name],
        cluster_queues=snapshot.cluster_queues,
        cohorts=snapshot.cohorts,
    )


def _queue(name: str, quota: int | Quota, cohort: str | None = "all") -> ClusterQueue:
    return make_cluster_queue(name=name, quota=quota, cohort=cohort)


def test_alone() -> None:
    """A ClusterQueue without cohort has its nominal quota, whatever its limits say."""
    limits = Quota(nominal=8, borrowing_limit=4, lending_limit=0)
    ledger = _ledger(_queue("a", limits, cohort=None))
    ledger.take("a", SLOT, 3)
    assert ledger.free("a", SLOT) == 5
    ledger.take("a", SLOT, 8)
    assert ledger.free("a", SLOT) == -3


def test_no_quota_named() -> None:
    """A flavor without quota for the resource has none."""
    assert _ledger(_queue("a", 8, cohort=None)).free("a", ("other", GPU)) == 0


def test_borrows_what_is_unused() -> None:
    """In a cohort each may use what the others leave."""
    ledger = _ledger(_queue("a", 8), _queue("b", 4))
    assert ledger.free("a", SLOT) == ledger.free("b", SLOT) == 12
    ledger.take("b", SLOT, 3)
    assert ledger.free("a", SLOT) == ledger.free("b", SLOT) == 9


def test_borrowing_limit() -> None:
    """A borrowing limit bounds what is used beyond the nominal quota."""
    ledger = _ledger(_queue("a", Quota(nominal=8, borrowing_limit=2)), _queue("b", 4))
    assert ledger.free("a", SLOT) == 10
    ledger.take("a", SLOT, 9)
    assert ledger.free("a", SLOT) == 1
    assert ledger.free("b", SLOT) == 3


def test_lending_limit() -> None:
    """What a lending limit keeps is nobody else's."""
    ledger = _ledger(_queue("a", Quota(nominal=8, lending_limit=1)), _queue("b", 4))
    assert ledger.free("b", SLOT) == 5
    ledger.take("b", SLOT, 5)
    assert ledger.free("a", SLOT) == 7


def test_nothing_lent() -> None:
    """With a lending limit of zero the nominal quota stays at home."""
    ledger = _ledger(_queue("a", Quota(nominal=8, lending_limit=0)), _queue("b", 0))
    assert ledger.free("b", SLOT) == 0
    assert ledger.free("a", SLOT) == 8


def test_hierarchy() -> None:
    """A Cohort's own quota is for all under it; its limits bound what crosses it."""
    tops = (
        make_cohort(name="root", flavors={"gpu": 2}),
        make_cohort(
            name="left",
            parent="root",
            flavors={"gpu": Quota(nominal=4, borrowing_limit=1, lending_limit=3)},
        ),
        make_cohort(name="right", parent="root"),
    )
    ledger = _ledger(_queue("a", 8, cohort="left"), _queue("b", 5, cohort="right"), cohorts=tops)
    assert ledger.free("b", SLOT) == 2 + 5 + 3
    assert ledger.free("a", SLOT) == 8 + 4 + 1
    ledger.take("b", SLOT, 8)
    assert ledger.free("a", SLOT) == 8 + 4 - 1
    assert ledger.free("b", SLOT) == 2


def test_cohort_without_object() -> None:
    """A cohort that only ClusterQueues name joins them all the same."""
    snapshot = make_snapshot(cluster_queues=[_queue("a", 1), _queue("b", 1), _queue("c", 1, None)])
    found = trees(snapshot)
    assert found["a"] is found["b"]
    assert found["a"].cluster_queues == ("a", "b")
    assert found["c"].cluster_queues == ("c",)


def test_same_name_is_not_the_same_tree() -> None:
    """A ClusterQueue that is named like a cohort is another tree."""
    snapshot = make_snapshot(cluster_queues=[_queue("all", 1, None), _queue("a", 1, "all")])
    assert trees(snapshot)["all"].root != trees(snapshot)["a"].root


def test_circle() -> None:
    """Cohorts that are each other's parents are found out, and have nothing to give."""
    circle = (make_cohort(name="x", parent="y"), make_cohort(name="y", parent="x"))
    snapshot = make_snapshot(cluster_queues=[_queue("a", 8, "x")], cohorts=circle)
    assert trees(snapshot)["a"].cyclic


_LIMIT = st.none() | st.integers(0, 20)
_QUOTA = st.builds(Quota, nominal=st.integers(0, 20), borrowing_limit=_LIMIT, lending_limit=_LIMIT)
_TAKES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 10)), max_size=20)


def _three(quotas: list[Quota], middle: Quota) -> Ledger:
    names = zip("abc", quotas, ("left", "left", "root"), strict=True)
    return _ledger(
        *(_queue(name, quota, cohort) for name, quota, cohort in names),
        cohorts=(make_cohort(name="left", parent="root", flavors={"gpu": middle}),),
    )


@given(quotas=st.lists(_QUOTA, min_size=3, max_size=3), middle=_QUOTA, takes=_TAKES)
def test_what_fits_stays_within_all_quota(
    quotas: list[Quota], middle: Quota, takes: list[tuple[str, int]]
) -> None:
    """Taking only what is free never uses more than there is, nor more than one may borrow."""
    ledger = _three(quotas, middle)
    used = dict.fromkeys("abc", 0)
    for name, amount in takes:
        before = ledger.free(name, SLOT)
        if amount <= before:
            ledger.take(name, SLOT, amount)
            used[name] += amount
            assert ledger.free(name, SLOT) == before - amount
    assert sum(used.values()) <= sum(one.nominal for one in quotas) + middle.nominal
    for name, quota in zip("abc", quotas, strict=True):
        assert ledger.free(name, SLOT) >= 0
        if quota.borrowing_limit is not None:
            assert used[name] <= quota.nominal + quota.borrowing_limit


@given(quotas=st.lists(_QUOTA, min_size=3, max_size=3), middle=_QUOTA, takes=_TAKES)
def test_free_quota_never_grows(
    quotas: list[Quota], middle: Quota, takes: list[tuple[str, int]]
) -> None:
    """Whoever takes, and however much: nobody has more than before."""
    ledger = _three(quotas, middle)
    for name, amount in takes:
        before = [ledger.free(one, SLOT) for one in "abc"]
        ledger.take(name, SLOT, amount)
        after = [ledger.free(one, SLOT) for one in "abc"]
        assert all(new <= old for new, old in zip(after, before, strict=True))
