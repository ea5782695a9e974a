"""The joiner, change by change, ends where a join from scratch ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Kind, LocalQueue, PlacedPod, Pod, SourceState, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.snapshot import Part, Snapshot
from scaler.core.usage import Usage, UsageKey
from scaler.observer.changes import Changed, Deleted, Listed, SourceChanged, UsageRead
from scaler.observer.join import Joiner
from tests.builders import (
    NOW,
    make_controlled,
    make_local_queue,
    make_node,
    make_owner,
    make_placed_pod,
    make_pod,
    make_scaled_object,
    make_snapshot,
    make_target,
    make_workload,
)

NAMES = ("a", "b", "c")
SPACES = ("ml", "web")


@dataclass
class Server:
    """What the API server holds: the truth that a join from scratch sees."""

    workloads: dict[tuple[str, str], Workload] = field(default_factory=dict)
    pods: dict[tuple[str, str], Pod | PlacedPod] = field(default_factory=dict)
    queues: dict[tuple[str, str], LocalQueue] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        """Join everything from scratch."""
        return make_snapshot(
            workloads=self.workloads.values(),
            pods=self.pods.values(),
            local_queues=self.queues.values(),
            owners=[CLUSTER],
        )


CLUSTER = make_controlled(uid="cluster-uid", kind="RayCluster", controller_uid="rayjob-uid")

names = st.sampled_from(NAMES)
spaces = st.sampled_from(SPACES)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Draw Workloads that differ in all that the index sorts by."""
    name, namespace = draw(names), draw(spaces)
    admitted = draw(st.booleans())
    return make_workload(
        name=name,
        namespace=namespace,
        uid=f"{namespace}-{name}",
        queue_name=draw(st.sampled_from(("lq", "other"))),
        gpus=draw(st.integers(1, 2)),
        priority=draw(st.integers(0, 1)),
        queued_at=float(draw(st.integers(0, 2))),
        admitted=admitted,
        cluster_queue="far",
        standing=draw(st.sampled_from([WorkloadClass.QUOTA, WorkloadClass.FINISHED]))
        if not admitted
        else WorkloadClass.RUNNING,
        owners=(make_owner(uid=draw(st.sampled_from(("rayjob-uid", "job-uid", "pod-uid")))),),
    )


@st.composite
def pods(draw: st.DrawFn) -> Pod | PlacedPod:
    """Draw whole pods and such that only hold something."""
    name, namespace = draw(names), draw(spaces)
    node = draw(st.sampled_from((None, "n1", "n2")))
    if draw(st.booleans()):
        return make_placed_pod(name=name, namespace=namespace, node=node, requests={"cpu": 500})
    owner = draw(st.sampled_from((None, "cluster-uid", "job-uid")))
    return make_pod(
        name=name,
        namespace=namespace,
        uid=f"pod-{namespace}-{name}",
        node=node,
        phase=draw(st.sampled_from(("Running", "Succeeded"))),
        placeholder=draw(st.booleans()),
        workload=draw(st.sampled_from((None, None, "a"))),
        owners=(make_owner(uid=owner),) if owner else (),
    )


queues = st.builds(
    lambda namespace, name, cluster_queue: make_local_queue(
        namespace=namespace, name=name, cluster_queue=cluster_queue
    ),
    spaces,
    st.sampled_from(("lq", "other")),
    st.sampled_from(("near", "far")),
)

steps = st.one_of(
    st.tuples(st.just("put"), st.one_of(workloads(), pods(), queues)),
    st.tuples(st.just("list"), st.lists(workloads(), max_size=4)),
    st.tuples(st.just("delete workload"), st.tuples(spaces, names)),
    st.tuples(st.just("delete pod"), st.tuples(spaces, names)),
    st.tuples(st.just("delete queue"), st.tuples(spaces, st.sampled_from(("lq", "other")))),
    st.tuples(st.just("look"), st.none()),
)


def _put(server: Server, joiner: Joiner, record: Workload | Pod | PlacedPod | LocalQueue) -> None:
    match record:
        case Workload():
            server.workloads[record.key] = record
            joiner.apply(Changed(kind=Kind.WORKLOADS, record=record))
        case LocalQueue():
            server.queues[(record.namespace, record.name)] = record
            joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=record))
        case _:
            server.pods[record.key] = record
            joiner.apply(Changed(kind=Kind.PODS, record=record))


def _step(server: Server, joiner: Joiner, word: str, argument: object) -> None:
    match word, argument:
        case "put", (Workload() | Pod() | PlacedPod() | LocalQueue()) as record:
            _put(server, joiner, record)
        case "list", list() as records:
            server.workloads = {record.key: record for record in records}
            joiner.apply(Listed(kind=Kind.WORKLOADS, records=list(server.workloads.values())))
        case "delete workload", (str() as namespace, str() as name):
            server.workloads.pop((namespace, name), None)
            joiner.apply(Deleted(kind=Kind.WORKLOADS, key=(namespace, name)))
        case "delete pod", (str() as namespace, str() as name):
            server.pods.pop((namespace, name), None)
            joiner.apply(Deleted(kind=Kind.PODS, key=(namespace, name)))
        case "delete queue", (str() as namespace, str() as name):
            server.queues.pop((namespace, name), None)
            joiner.apply(Deleted(kind=Kind.LOCAL_QUEUES, key=(namespace, name)))
        case _:
            joiner.snapshot(at=NOW)


def _unordered(found: Mapping[tuple[str, str], tuple[Pod, ...]]) -> dict[object, set[object]]:
    return {key: {pod.key for pod in members} for key, members in found.items()}


@given(st.lists(steps, max_size=30))
def test_any_script_of_changes_ends_as_a_join_from_scratch(
    script: list[tuple[str, object]],
) -> None:
    """Partitions, routes, sums and joins are the same whichever way the truth arrived."""
    server, joiner = Server(), Joiner()
    joiner.apply(Listed(kind=Kind.RAY_CLUSTERS, records=[CLUSTER]))
    for word, argument in script:
        _step(server, joiner, word, argument)
    got, _ = joiner.snapshot(at=NOW)
    want = server.snapshot()
    assert got.queues == want.queues
    assert got.unroutable == want.unroutable
    assert dict(got.workload_index) == dict(want.workload_index)
    assert {u: set(w) for u, w in got.workloads_by_owner.items()} == {
        u: set(w) for u, w in want.workloads_by_owner.items()
    }
    assert {n: set(w) for n, w in got.workloads_by_owner_name.items()} == {
        n: set(w) for n, w in want.workloads_by_owner_name.items()
    }
    assert got.node_requests == want.node_requests
    assert got.pods == want.pods
    assert {n: {p.key for p in found} for n, found in got.gpu_pods_by_node.items()} == {
        n: {p.key for p in found} for n, found in want.gpu_pods_by_node.items()
    }


def test_a_published_snapshot_never_changes() -> None:
    """A reader may hold a Snapshot while the joiner goes on."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue()))
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=make_workload(name="a")))
    before, _ = joiner.snapshot(at=NOW)
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=make_workload(name="b")))
    after, _ = joiner.snapshot(at=NOW)
    assert set(before.workload_index) == {("ml", "a")}
    assert set(after.workload_index) == {("ml", "a"), ("ml", "b")}
    counts = [
        sum(len(group) for part in snapshot.queues.values() for group in part.groups.values())
        for snapshot in (before, after)
    ]
    assert counts == [1, 2]


def test_a_local_queue_that_comes_late_takes_its_workloads_along() -> None:
    """Unchanged Workloads move when a LocalQueue appears, leads elsewhere, or goes."""
    joiner = Joiner()
    joiner.apply(Listed(kind=Kind.WORKLOADS, records=[make_workload(name="a")]))
    for cluster_queue in ("gpu-cq", "other"):
        queue = make_local_queue(cluster_queue=cluster_queue)
        joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=queue))
        snapshot, _ = joiner.snapshot(at=NOW)
        assert set(snapshot.queues) == {cluster_queue}
        assert not snapshot.unroutable
    joiner.apply(Deleted(kind=Kind.LOCAL_QUEUES, key=("ml", "lq")))
    snapshot, _ = joiner.snapshot(at=NOW)
    assert (len(snapshot.queues), len(snapshot.unroutable)) == (0, 1)


def test_a_change_touches_its_partitions_and_no_others() -> None:
    """Triggers that read other partitions are not decided anew."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue(cluster_queue="cq")))
    joiner.snapshot(at=NOW)
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=make_workload()))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == {(Part.QUEUE, "cq")}
    joiner.apply(Changed(kind=Kind.NODES, record=make_node()))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == {(Part.NODES, "")}
    joiner.apply(Changed(kind=Kind.NODES, record=make_node()))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == frozenset()


def test_a_list_that_says_nothing_new_touches_nothing() -> None:
    """A relist of 100,000 Workloads must not decide every trigger anew."""
    joiner = Joiner()
    workloads = [make_workload(name=name, uid=name) for name in NAMES]
    joiner.apply(Listed(kind=Kind.WORKLOADS, records=workloads))
    joiner.snapshot(at=NOW)
    joiner.apply(Listed(kind=Kind.WORKLOADS, records=[replace(w) for w in workloads]))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == frozenset()


def test_a_source_that_only_shows_life_touches_nothing() -> None:
    """Bookmarks come each minute for every kind: they must not decide anything anew."""
    joiner = Joiner()
    state = SourceState(synced=True, last_alive=NOW)
    joiner.apply(SourceChanged(kind=Kind.NODES, state=state))
    _, touched = joiner.snapshot(at=NOW)
    assert touched == {(Part.SOURCE, Kind.NODES)}
    joiner.apply(SourceChanged(kind=Kind.NODES, state=replace(state, last_alive=NOW + 60)))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert touched == frozenset()
    assert snapshot.sources[Kind.NODES].last_alive == NOW + 60


def test_listing_deployments_leaves_statefulsets_alone() -> None:
    """Two kinds share the table of targets."""
    joiner = Joiner()
    joiner.apply(Listed(kind=Kind.STATEFUL_SETS, records=[make_target(kind="StatefulSet")]))
    joiner.apply(Listed(kind=Kind.DEPLOYMENTS, records=[make_target(kind="Deployment")]))
    joiner.apply(Listed(kind=Kind.DEPLOYMENTS, records=[]))
    snapshot, touched = joiner.snapshot(at=NOW)
    assert {kind for kind, _, _ in snapshot.targets} == {"StatefulSet"}
    assert touched == {(Part.TARGETS, "ml")}


def test_a_deleted_scaled_object_is_gone() -> None:
    """Its triggers are then forgotten by the observer."""
    joiner = Joiner()
    scaled_object = make_scaled_object()
    joiner.apply(Changed(kind=Kind.SCALED_OBJECTS, record=scaled_object))
    joiner.apply(Deleted(kind=Kind.SCALED_OBJECTS, key=scaled_object.key))
    snapshot, _ = joiner.snapshot(at=NOW)
    assert scaled_object.key not in snapshot.scaled_objects


def test_an_owner_goes_by_name_and_makes_way_for_its_namesake() -> None:
    """Deletions name no uid, and a recreated RayCluster may come without one."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.RAY_CLUSTERS, record=CLUSTER))
    again = replace(CLUSTER, uid="another-uid")
    joiner.apply(Changed(kind=Kind.RAY_CLUSTERS, record=again))
    assert set(joiner.snapshot(at=NOW)[0].owners) == {"another-uid"}
    joiner.apply(Deleted(kind=Kind.RAY_CLUSTERS, key=(again.namespace, again.name)))
    assert dict(joiner.snapshot(at=NOW)[0].owners) == {}
    joiner.apply(Listed(kind=Kind.RAY_CLUSTERS, records=[CLUSTER]))
    joiner.apply(Deleted(kind=Kind.RAY_CLUSTERS, key=(CLUSTER.namespace, CLUSTER.name)))
    assert dict(joiner.snapshot(at=NOW)[0].owners) == {}


def test_a_pod_finds_its_workload_up_the_chain_of_controllers() -> None:
    """Pod, RayCluster, RayJob: the Workload belongs to the last."""
    joiner = Joiner()
    joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue()))
    joiner.apply(Listed(kind=Kind.RAY_CLUSTERS, records=[CLUSTER]))
    pod = make_pod(name="w", owners=(make_owner(uid="cluster-uid"),))
    joiner.apply(Changed(kind=Kind.PODS, record=pod))
    joiner.snapshot(at=NOW)
    workload = make_workload(name="rayjob", owners=(make_owner(uid="rayjob-uid"),))
    joiner.apply(Changed(kind=Kind.WORKLOADS, record=workload))
    snapshot, _ = joiner.snapshot(at=NOW)
    assert _unordered(snapshot.pods_by_workload) == {workload.key: {pod.key}}


def test_pods_without_devices_that_readings_name_are_bystanders() -> None:
    """D01: the exporter's own pod is there and has no device; one that is gone is none."""
    key = UsageKey(window_seconds=1800.0, busy_from_percent=1.0)
    names = ("exporter", "user", "done", "gone")
    usage = Usage(key=key, at=NOW, by_pod={("ml", name): () for name in names})
    joiner = Joiner()
    pods: list[Pod | PlacedPod] = [
        make_placed_pod(name="exporter", namespace="ml"),
        make_placed_pod(name="unnamed", namespace="ml"),
        make_placed_pod(name="done", namespace="ml", node=None),
        make_pod(name="user"),
    ]
    joiner.apply(Listed(kind=Kind.PODS, records=pods))
    joiner.apply(UsageRead(usage={key: usage}, answers={}))
    snapshot, _ = joiner.snapshot(at=NOW)
    assert snapshot.bystanders == {("ml", "exporter")}
