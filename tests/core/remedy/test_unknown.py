"""What has to be there first, with the names that may have been meant."""

from dataclasses import replace

import pytest

from scaler.core.decision import Status
from scaler.core.model import Kind, SourceState
from scaler.core.reasons import Reason
from scaler.core.remedy.remedy import Lever
from scaler.core.remedy.unknown import known
from tests.core.idle_fixture import METADATA, POLICY, cluster
from tests.core.queue_fixture import NODES, make_cluster, make_jobs, make_sizer
from tests.core.remedy.asking import asked, pulled


def test_a_cluster_queue_that_is_not_there_names_the_one_that_is_close() -> None:
    """A typing error is seen at once."""
    decision, found = asked(make_cluster(), {**NODES, "clusterQueue": "gpu-qc"})
    assert decision.reason is Reason.CLUSTER_QUEUE_MISSING
    assert pulled(found, Lever.OBJECT).text == (
        "there is no ClusterQueue gpu-qc; do you mean gpu-cq?"
    )


def test_one_of_a_list_is_named_while_the_others_count() -> None:
    """The value is a lower bound, and that is why."""
    snapshot = make_cluster(*make_jobs(1))
    decision, found = asked(snapshot, {**NODES, "clusterQueue": "gpu-cq,vision"})
    assert decision.status is Status.OK
    assert pulled(found, Lever.OBJECT).subject == "clusterqueue/vision"


def test_a_pool_that_is_not_there_names_those_that_are() -> None:
    """The policy's."""
    decision, found = asked(make_cluster(), {**NODES, "pool": "h100"})
    assert decision.reason is Reason.POOL_MISSING
    assert pulled(found, Lever.OBJECT).text == "there is no pool of the policy h100; there are gpu"


def test_a_pool_that_is_taken_names_who_has_it() -> None:
    """Law: once that one is paused, a value comes out."""
    first = make_sizer(name="first", created=0.0)
    snapshot = make_cluster(sizers=(make_sizer(), first))
    decision, found = asked(snapshot)
    assert decision.reason is Reason.POOL_TAKEN
    assert "ScaledObject ml/first" in pulled(found, Lever.OBJECT).text
    paused = make_cluster(sizers=(make_sizer(), replace(first, paused=True)))
    assert asked(paused)[0].status is Status.OK


@pytest.mark.parametrize("kind", [Kind.WORKLOADS, Kind.NODES])
def test_a_source_that_failed_is_told_with_its_problem(kind: Kind) -> None:
    """Whoever mends it needs the words of the API server."""
    broken = {kind: SourceState(synced=False, problem=f"403 on list {kind}")}
    snapshot = make_cluster()
    snapshot = replace(snapshot, sources={**snapshot.sources, **broken})
    decision, found = asked(snapshot)
    assert decision.reason is Reason.NOT_SYNCED
    assert f"403 on list {kind}" in pulled(found, Lever.SOURCE).text


def test_a_query_that_is_not_there_names_those_that_are() -> None:
    """The policy's."""
    policy = replace(POLICY, queries={"requests": "sum(r)"})
    metadata = {**METADATA, "wake": "reqests"}
    decision, found = asked(cluster(pods=[]), metadata, policy=policy)
    assert decision.reason is Reason.QUERY_MISSING
    assert "the policy's queries are requests" in pulled(found, Lever.QUERY).text


def test_malformed_metadata_is_told_problem_by_problem() -> None:
    """Each is a change of its own."""
    _, found = asked(make_cluster(), {**NODES, "unit": "boxes", "colour": "red"})
    levers = [one.lever for one in found]
    assert levers == [Lever.METADATA, Lever.METADATA]


def test_a_paused_scaled_object_is_told_to_ask_nothing() -> None:
    """Whatever is decided, KEDA doesn't hear of it."""
    _, found = asked(make_cluster(sizers=(make_sizer(paused=True),)))
    assert "KEDA asks nothing" in pulled(found, Lever.PAUSE).text


def test_many_names_are_not_all_shown() -> None:
    """A sentence stays one."""
    said = known("pool", "zzz", [f"p{number:02}" for number in range(12)])
    assert said.endswith("and 2 more")
    assert known("pool", "x", []) == "there is no pool x, and no other"
