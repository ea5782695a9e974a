"""Which flavors a podset may be given."""

import pytest

from scaler.core.demand.flavors import candidates, group_of
from scaler.core.model import (
    ClusterQueue,
    NodeRequirement,
    PodSet,
    PodShape,
    ResourceFlavor,
    Taint,
    Toleration,
    TopologyRequest,
)
from tests.builders import GPU, make_cluster_queue, make_flavor, make_pod_set, make_shape

TAINT = Taint(key="gpu", value="yes")
TOLERATES = Toleration(key="gpu", operator="Exists")
QUEUE = make_cluster_queue(flavors={"a": 8, "b": 8})
A, B = make_flavor(name="a"), make_flavor(name="b")


def _fitting(
    pod_set: PodSet,
    *flavors: ResourceFlavor,
    queue: ClusterQueue = QUEUE,
    allowed: tuple[str, ...] | None = None,
) -> tuple[str, ...]:
    return candidates(
        pod_set=pod_set,
        group=queue.groups[0],
        cluster_queue=queue,
        flavors={one.name: one for one in flavors},
        allowed=allowed,
    )


def _shaped(shape: PodShape) -> PodSet:
    return make_pod_set(shape=shape)


def test_all_flavors_fit_a_podset() -> None:
    """All flavors fit a podset that asks nothing special in the queues order."""
    assert _fitting(make_pod_set(), B, A) == ("a", "b")


def test_a_flavor_that_is_named() -> None:
    """A flavor that is named and does not exist never fits."""
    assert _fitting(make_pod_set(), B) == ("b",)


def test_while_flavors_cannot_be_read() -> None:
    """While flavors cannot be read each that is named fits."""
    found = candidates(
        pod_set=make_pod_set(), group=QUEUE.groups[0], cluster_queue=QUEUE, flavors=None
    )
    assert found == ("a", "b")


def test_the_workloads_annotation_leaves() -> None:
    """The workloads annotation leaves only the flavors that it names."""
    assert _fitting(make_pod_set(), A, B, allowed=("b", "c")) == ("b",)


@pytest.mark.parametrize(
    ("shape", "flavor_tolerations", "effect", "want"),
    [
        pytest.param(make_shape(), (), "NoSchedule", ("b",), id="not tolerated"),
        pytest.param(make_shape(), (), "NoExecute", ("b",), id="not tolerated, NoExecute"),
        pytest.param(make_shape(), (), "PreferNoSchedule", ("a", "b"), id="only a preference"),
        pytest.param(
            make_shape(tolerations=(TOLERATES,)), (), "NoSchedule", ("a", "b"), id="by the pod"
        ),
        pytest.param(make_shape(), (TOLERATES,), "NoSchedule", ("a", "b"), id="by the flavor"),
    ],
)
def test_a_taint_must_be_tolerated(
    shape: PodShape,
    flavor_tolerations: tuple[Toleration, ...],
    effect: str,
    want: tuple[str, ...],
) -> None:
    """A taint must be tolerated by the pod or by the flavor itself."""
    tainted = make_flavor(
        name="a",
        taints=(Taint(key="gpu", value="yes", effect=effect),),
        tolerations=flavor_tolerations,
    )
    assert _fitting(_shaped(shape), tainted, B) == want


def test_a_taint_named_as_the_device_is_not_tolerated_by_asking_for_the_device() -> None:
    """The admission plugin that adds such a toleration works on pods; Kueue reads templates."""
    tainted = make_flavor(name="a", taints=(Taint(key=GPU),))
    assert _fitting(make_pod_set(), tainted, B) == ("b",)


def test_a_node_selector_speaks() -> None:
    """A node selector speaks on the flavors own label keys alone."""
    other_key = make_flavor(name="b", node_labels={"zone": "z"})
    assert _fitting(_shaped(make_shape(node_selector={"pool": "c"})), A, other_key) == ("b",)
    assert _fitting(_shaped(make_shape(node_selector={"pool": "a"})), A, B) == ("a",)


def _requires(key: str, *values: str) -> tuple[NodeRequirement, ...]:
    return (NodeRequirement(key=key, operator="In", values=values),)


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        pytest.param((_requires("pool", "b"),), ("b",), id="one term"),
        pytest.param((_requires("pool", "b"), _requires("pool", "a")), ("a", "b"), id="either"),
        pytest.param((_requires("zone", "z"),), ("a", "b"), id="a key that no flavor has"),
        pytest.param(
            ((*_requires("zone", "z"), *_requires("pool", "a")),), ("a",), id="all of a term"
        ),
    ],
)
def test_required_affinity_holds_by_one_term(
    affinity: tuple[tuple[NodeRequirement, ...], ...], want: tuple[str, ...]
) -> None:
    """Required affinity holds by one term on the flavors own keys."""
    assert _fitting(_shaped(make_shape(affinity=affinity)), A, B) == want


def test_a_podset_with_a_topology() -> None:
    """A podset with a topology request needs a flavor with a topology."""
    spread = make_flavor(name="b", topology="t")
    request = TopologyRequest(required="rack")
    assert _fitting(make_pod_set(topology=request), A, spread) == ("b",)


def test_in_a_mixed_queue() -> None:
    """In a mixed queue plain podsets get no flavor with a topology."""
    assert _fitting(make_pod_set(), A, make_flavor(name="b", topology="t")) == ("a",)


def test_where_every_flavor_has_a_topology() -> None:
    """Where every flavor has a topology plain podsets get it implicitly."""
    both = (make_flavor(name="a", topology="t"), make_flavor(name="b", topology="t"))
    assert _fitting(make_pod_set(), *both) == ("a", "b")


def test_the_group_of_a_resource() -> None:
    """The group of a resource is the one that covers it."""
    assert group_of(QUEUE, GPU) is QUEUE.groups[0]
    assert group_of(QUEUE, "cpu") is None
