"""The nodes that are told to lack make room for all, and one less does not."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.decision import Decision
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever
from tests.builders import GPU, NOW, amounts, make_node, make_pod_set, make_shape, make_workload
from tests.core.queue_fixture import (
    GPUS,
    POOL,
    make_cluster,
    make_jobs,
    make_policy,
    make_sizer,
    pool_evidence,
)
from tests.core.remedy.asking import asked, pulled

PER_NODE = {"signal": "queue", "clusterQueue": "gpu-cq", "gpusPerNode": "8"}


def at_most(nodes: int) -> Policy:
    """Build the policy with another maxNodes."""
    return make_policy(replace(POOL, max_nodes=nodes))


def capped(decision: Decision) -> bool:
    """Say whether maxNodes cut the value."""
    return pool_evidence(decision).capped


@settings(max_examples=40)
@given(jobs=st.integers(1, 9), gpus=st.integers(1, 8), limit=st.integers(1, 4))
def test_law_so_many_more_nodes_and_not_one_less(jobs: int, gpus: int, limit: int) -> None:
    """With maxNodes raised by what is told nothing is cut, and the value is what is told."""
    snapshot = make_cluster(*make_jobs(jobs, gpus=gpus))
    decision, found = asked(snapshot, policy=at_most(limit))
    if not capped(decision):
        assert not [one for one in found if one.lever is Lever.MAX_NODES]
        return
    remedy = pulled(found, Lever.MAX_NODES)
    ((unit, more),) = remedy.more
    assert unit == "nodes"
    enough, _ = asked(snapshot, policy=at_most(limit + more))
    one_less, _ = asked(snapshot, policy=at_most(limit + more - 1))
    assert (capped(enough), capped(one_less)) == (False, True)
    assert remedy.then is not None
    assert (remedy.then.value, remedy.then.reason) == (enough.value, enough.reason)


def test_the_sentence_names_pool_limit_and_value() -> None:
    """A platform engineer reads what to edit."""
    _, found = asked(make_cluster(*make_jobs(5)), policy=at_most(3))
    assert pulled(found, Lever.MAX_NODES).text == (
        "needs 2 more nodes of pool gpu, and maxNodes 3 caps it: with maxNodes 5 "
        "the value is 5 instead of 3"
    )


def test_without_a_pool_the_scaled_object_s_maximum_caps() -> None:
    """Nodes that are told by their GPUs alone have no maxNodes."""
    sizer = make_sizer(PER_NODE, max_replicas=2)
    _, found = asked(make_cluster(*make_jobs(5), sizers=(sizer,)), PER_NODE)
    remedy = pulled(found, Lever.MAX_REPLICAS)
    assert remedy.more == (("nodes", 3),)
    assert "maxReplicaCount 2 caps it: with maxReplicaCount 5 the value is 5" in remedy.text


def test_keda_s_own_maximum_below_the_value_is_told() -> None:
    """The HPA would stop there, without a word."""
    sizer = make_sizer(GPUS, max_replicas=5)
    _, found = asked(make_cluster(*make_jobs(1), sizers=(sizer,)), GPUS)
    remedy = pulled(found, Lever.MAX_REPLICAS)
    assert remedy.more == (("replicas", 3),)
    assert remedy.text.startswith("maxReplicaCount 5 of the ScaledObject keeps the target at 5")


def test_a_pod_larger_than_any_node_is_told_by_what_it_asks_and_what_there_is() -> None:
    """97 CPUs, where a node has 96; a node with 97 would be bought for it."""
    pool = replace(POOL, node=amounts({"cpu": 96_000, "pods": 110}, gpu=8))
    shape = make_shape(gpus=1, requests={"cpu": 97_000})
    large = make_workload(name="large", pod_sets=(make_pod_set(count=1, shape=shape),))
    snapshot = make_cluster(large)
    decision, found = asked(snapshot, policy=make_policy(pool))
    assert decision.reason is Reason.FITS_NO_NODE
    remedy = pulled(found, Lever.NODE)
    assert remedy.text == (
        "a pod of Workload ml/large (main) fits no node: it asks 97 CPUs, a node of pool gpu has "
        "96 CPUs: with that the value is 1 instead of 0"
    )
    assert remedy.more == (("cpu", 1000),)
    for cpu, value in ((97_000, 1), (96_999, 0)):
        grown = replace(pool, node=amounts({"cpu": cpu, "pods": 110}, gpu=8))
        again, _ = asked(snapshot, policy=make_policy(grown))
        assert again.value == value


def test_gpus_of_a_pod_are_told_like_any_resource() -> None:
    """Sixteen in one pod, where a node has eight."""
    snapshot = make_cluster(make_workload(name="large", gpus=16))
    _, found = asked(snapshot)
    remedy = pulled(found, Lever.NODE)
    assert "it asks 16 GPUs, a node of pool gpu has 8 GPUs" in remedy.text
    assert remedy.more == ((GPU, 8),)


def test_a_pod_that_fits_by_size_alone_is_told_to_lack_something_else() -> None:
    """A node selector that no node of the pool bears."""
    shape = make_shape(gpus=1, node_selector={"zone": "moon"})
    far = make_workload(name="far", pod_sets=(make_pod_set(count=1, shape=shape),))
    snapshot = make_cluster(far, size=2)
    decision, found = asked(snapshot)
    assert decision.reason is Reason.FITS_NO_NODE
    assert "labels, taints, domains" in pulled(found, Lever.NODE).text


def test_a_ready_node_without_devices_is_named() -> None:
    """Without a device plugin it would be waited for in silence."""
    nodes = [
        make_node(name="old", gpus=0),
        make_node(name="young", gpus=0, created=NOW - 60),
        make_node(name="late", gpus=0, created=NOW - 60, ready=False),
        make_node(name="whole"),
    ]
    _, found = asked(make_cluster(*make_jobs(3), size=4, nodes=nodes))
    said = "is Ready, but shows no"
    asks = "yet (does its device plugin run there?): it is"
    assert [one.text for one in found if one.lever is Lever.DEVICES] == [
        f"node young {said} {GPU} {asks} coming until provisioningTimeout 15m is over",
        f"node old {said} {GPU} {asks} broken, since provisioningTimeout 15m is over",
    ]


def test_of_many_nodes_without_devices_three_are_named() -> None:
    """The rest is a number; nodes that have theirs are none of them."""
    nodes = [make_node(name=f"n{number}", gpus=0, created=NOW - 60) for number in range(5)]
    _, found = asked(make_cluster(*make_jobs(3), size=5, nodes=nodes))
    assert pulled(found, Lever.DEVICES).text.startswith("node n0, n1, n2 and 2 more is Ready")
    _, found = asked(make_cluster(*make_jobs(3), size=3))
    assert not [one for one in found if one.lever is Lever.DEVICES]
