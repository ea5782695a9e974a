"""Held pods need no nodes; those that are wanted back do, before they are there."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.demand.holds import HeldSets, held_sets, holds_in
from scaler.core.model import Admission, Mode, Pod, WorkerScale, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Snapshot
from tests.builders import (
    NOW,
    make_assignment,
    make_cluster_queue,
    make_group,
    make_hold,
    make_pod,
    make_pod_set,
    make_snapshot,
    make_worker_scale,
    make_workload,
)
from tests.core.demand_fixture import ask, classes, total_gpus, unplaced_gpus

YOUNG, OLD = NOW - 60, NOW - 7200


def ray(*, admitted_at: float = YOUNG, uid: str = "uid-ray") -> Workload:
    """Build an admitted RayCluster's Workload: a head, two workers of four GPUs."""
    sets = (
        make_pod_set(name="head", count=1, gpus=0),
        make_pod_set(name="gpu", count=2, gpus=4),
    )
    return make_workload(
        name="ray", uid=uid, pod_sets=sets, admitted=True, admitted_at=admitted_at, created=OLD
    )


def held(
    *, waking_at: float | None = None, uid: str = "uid-ray", mode: Mode = Mode.HOLD
) -> WorkerScale:
    """Build the WorkerScale that took the workers."""
    hold = make_hold(workload_uid=uid, waking_at=waking_at)
    return make_worker_scale(replicas=0, hold=hold, mode=mode)


def worker(name: str, *, node: str | None = "node-0", **changes: object) -> Pod:
    """Build a worker; without a node it is Pending."""
    pod = make_pod(
        name=name,
        gpus=4,
        workload="ray",
        pod_set="gpu",
        node=node,
        phase="Pending" if node is None else "Running",
    )
    return replace(pod, **changes)  # type: ignore[arg-type] # names and types are the caller's, and the record checks neither


def head() -> Pod:
    """Build the head, which stays."""
    return make_pod(name="head", workload="ray", pod_set="head", gpus=0)


def cluster(
    *scales: WorkerScale, workload: Workload | None = None, pods: tuple[Pod, ...] = ()
) -> Snapshot:
    """Build the snapshot of one RayCluster and its head."""
    return make_snapshot(workloads=[workload or ray()], pods=[head(), *pods], worker_scales=scales)


# --- held ----------------------------------------------------------------------------------------


def test_held_pods_are_no_demand_however_young_the_admission() -> None:
    """Held pods are no demand, however young the admission; without the hold they are."""
    assert unplaced_gpus(ask(cluster())) == 8
    found = ask(cluster(held()))
    assert unplaced_gpus(found) == 0
    assert classes(found) == {WorkloadClass.HELD: 1}
    assert total_gpus(found) == 0
    assert found.admitted_workloads == 1


def test_the_class_says_what_quota_is_held() -> None:
    """The class says what quota is held."""
    (row,) = ask(cluster(held())).classes
    assert (row.workload_class, row.workloads, row.gpus) == ("Held", 1, 8)


def test_a_worker_that_still_ends_counts_as_long_as_it_lives() -> None:
    """A worker that still ends counts as long as it lives, one that is pending never."""
    found = ask(cluster(held(), pods=(worker("a"), worker("b", deleting=True))))
    assert (unplaced_gpus(found), total_gpus(found)) == (0, 4)
    stuck = worker("c", node=None, unschedulable=True)
    assert unplaced_gpus(ask(cluster(held(), pods=(stuck,)))) == 0


def test_another_workload_of_that_name_is_not_held() -> None:
    """A Workload that was made anew under the name is not the held one."""
    assert unplaced_gpus(ask(cluster(held(uid="uid-before")))) == 8


def test_only_mode_hold_keeps_pods_away_from_quota() -> None:
    """A released Workload that is admitted again waits for its pods like any other."""
    assert unplaced_gpus(ask(cluster(held(mode=Mode.RELEASE)))) == 8


def test_another_group_of_the_workload_still_waits() -> None:
    """Another group of the Workload still waits."""
    sets = (make_pod_set(name="gpu", count=2, gpus=4), make_pod_set(name="big", count=1, gpus=8))
    two = make_workload(
        name="ray", uid="uid-ray", pod_sets=sets, admitted=True, admitted_at=YOUNG, created=OLD
    )
    found = ask(make_snapshot(workloads=[two], worker_scales=[held()]))
    assert unplaced_gpus(found) == 8
    assert classes(found) == {WorkloadClass.UNPLACED: 1}
    assert total_gpus(found) == 8


def test_quota_of_a_held_workload_is_used() -> None:
    """What waits for quota gets none of what is held."""
    queue = make_cluster_queue(groups=(make_group(flavors={"gpu": 8}),))
    waiting = make_workload(name="next", gpus=4)
    snapshot = make_snapshot(
        workloads=[ray(), waiting],
        pods=[head()],
        worker_scales=[held()],
        cluster_queues=[queue],
    )
    found = ask(snapshot)
    assert found.needs == ()


# --- wanted back ---------------------------------------------------------------------------------


def test_a_wake_is_demand_before_its_pods_are_there() -> None:
    """A wake is demand before its pods are there, however long ago the admission was."""
    old = ray(admitted_at=OLD)
    assert unplaced_gpus(ask(cluster(workload=old))) == 0
    found = ask(cluster(held(waking_at=NOW - 5), workload=old))
    assert unplaced_gpus(found) == 8
    (need,) = found.needs
    assert need.workload_class is WorkloadClass.UNPLACED
    assert [(one.pod_set, one.count, one.flavors) for one in need.pods] == [("gpu", 2, ("gpu",))]
    assert total_gpus(found) == 8


def test_the_wait_of_a_wake_begins_with_it() -> None:
    """The delay of a trigger counts from the wake, not from the admission."""
    (need,) = ask(cluster(held(waking_at=NOW - 5), workload=ray(admitted_at=OLD))).needs
    assert need.since == NOW - 5


def test_workers_that_came_back_are_no_demand_any_more() -> None:
    """What is bound is there; what is pending, still ends or failed is not."""
    old, waking = ray(admitted_at=OLD), held(waking_at=NOW - 5)
    for second, lacking in (
        (worker("b"), 0),
        (worker("b", node=None), 4),
        (worker("b", deleting=True), 4),
        (worker("b", phase="Failed"), 4),
        (worker("b", phase="Succeeded"), 0),
    ):
        found = ask(cluster(waking, workload=old, pods=(worker("a"), second)))
        assert unplaced_gpus(found) == lacking, second


def test_a_wake_counts_its_quota_and_the_others_their_pods() -> None:
    """A podset that wakes counts as admitted, another by its live pods, both together."""
    sets = (make_pod_set(name="gpu", count=2, gpus=4), make_pod_set(name="big", count=1, gpus=8))
    two = make_workload(
        name="ray", uid="uid-ray", pod_sets=sets, admitted=True, admitted_at=OLD, created=OLD
    )
    live = make_pod(name="big-0", gpus=8, workload="ray", pod_set="big")
    found = ask(
        make_snapshot(workloads=[two], pods=[live], worker_scales=[held(waking_at=NOW - 1)])
    )
    assert total_gpus(found) == 16


def test_an_evicted_workload_wakes_into_nothing() -> None:
    """On its way out it needs no nodes, whatever its WorkerScale wants."""
    gone = replace(ray(admitted_at=OLD), evicted=True)
    assert ask(cluster(held(waking_at=NOW - 5), workload=gone)).needs == ()


def test_fewer_pods_were_admitted() -> None:
    """A wake is of the pods that were admitted, not of those that were asked for."""
    old = ray(admitted_at=OLD)
    assert old.admission is not None
    part = make_assignment(pod_set=old.pod_sets[1], count=1)
    partial = replace(old, admission=Admission(cluster_queue="gpu-cq", assignments=(part,)))
    assert unplaced_gpus(ask(cluster(held(waking_at=NOW), workload=partial))) == 4


# --- the index -----------------------------------------------------------------------------------


def test_two_groups_of_one_workload_are_held_apart() -> None:
    """Two groups of one Workload are held apart."""
    one = make_worker_scale(name="one", hold=make_hold(workload_uid="u", pod_sets={"a": 1}))
    two = make_worker_scale(
        name="two", hold=make_hold(workload_uid="u", pod_sets={"b": 1}, waking_at=NOW)
    )
    found = holds_in({one.key: one, two.key: two})
    sets = HeldSets(away=frozenset({"a"}), waking=frozenset({"b"}), since=NOW)
    assert found == {(one.namespace, "u"): sets}


def test_the_index_is_made_once_for_the_same_worker_scales() -> None:
    """The index is made once for the same WorkerScales."""
    snapshot = cluster(held())
    assert held_sets(snapshot) is held_sets(replace(snapshot, at=NOW + 1))
    assert held_sets(cluster()) == {}


def test_no_worker_scale_holds_a_workload_of_another_namespace() -> None:
    """Whoever may write a status in one namespace says nothing of another one's demand."""
    alien = replace(held(), namespace="elsewhere")
    assert unplaced_gpus(ask(cluster(alien))) == unplaced_gpus(ask(cluster()))
    assert unplaced_gpus(ask(cluster(held()))) != unplaced_gpus(ask(cluster()))


@given(
    away=st.booleans(),
    waking=st.booleans(),
    young=st.booleans(),
    bound=st.integers(0, 2),
)
def test_a_hold_never_makes_demand_and_a_wake_never_more_than_its_size(
    *, away: bool, waking: bool, young: bool, bound: int
) -> None:
    """Law: held <= as it was <= woken <= what was admitted."""
    workload = ray(admitted_at=YOUNG if young else OLD)
    pods = tuple(worker(f"w{number}") for number in range(bound))
    scales = (held(waking_at=NOW if waking else None),) if away else ()
    bare = unplaced_gpus(ask(cluster(workload=workload, pods=pods)))
    found = unplaced_gpus(ask(cluster(*scales, workload=workload, pods=pods)))
    if away and not waking:
        assert found == 0
    elif away:
        assert found == 8 - 4 * bound
        assert found >= bare
    else:
        assert found == bare
