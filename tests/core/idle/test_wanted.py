from dataclasses import replace

from scaler.core.idle.wanted import Wanted, wanted
from scaler.core.trigger import TriggerRef
from scaler.core.usage import QueryKey, UsageKey
from tests.builders import NOW, make_target
from tests.core.idle_fixture import POLICY, cluster, decided, so, usage_of, util

ASKING = replace(POLICY, queries={"requests": 'sum(r{namespace="$namespace",w="$workload"})'})


def ask(*triggers: dict[str, str], name: str = "so") -> Wanted:
    """Ask what triggers of `so` want."""
    snapshot = cluster(targets=[make_target(), make_target(name="more")])
    refs = [
        TriggerRef.of(namespace="ml", name=name, metadata={"signal": "idle", **metadata})
        for metadata in triggers
    ]
    return wanted(snapshot, refs, ASKING, NOW)


def test_triggers_of_one_window_and_threshold_share_a_fleet_query() -> None:
    """Triggers of one window and threshold share a fleet query."""
    found = ask({}, {"workload": "Deployment/more"}, {"idleAfter": "1h"}, {"busyFromPercent": "5"})
    assert found.usage == {
        UsageKey(window_seconds=1800, busy_from_percent=1),
        UsageKey(window_seconds=3600, busy_from_percent=1),
        UsageKey(window_seconds=1800, busy_from_percent=5),
    }


def test_queries_are_bound_to_each_workload() -> None:
    """Queries are bound to each workload."""
    found = ask(
        {"wake": "requests", "keepAlive": "requests"},
        {"wake": "requests", "workload": "Deployment/more"},
    )
    assert found.queries == {
        QueryKey(name="requests", namespace="ml", workload="workers"): (
            'sum(r{namespace="ml",w="workers"})'
        ),
        QueryKey(name="requests", namespace="ml", workload="more"): (
            'sum(r{namespace="ml",w="more"})'
        ),
    }


def test_what_can_not_be_asked_or_found_is_not_wanted() -> None:
    """What can not be asked or found is not wanted."""
    nothing = Wanted(usage=frozenset(), queries={})
    assert ask({"wake": "unheard-of"}).queries == {}
    assert ask({"workload": "Job/gone"}) == nothing
    assert ask({"idleAfter": "soon"}) == nothing
    assert ask({"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}) == nothing


def test_an_unknown_scaled_objects_trigger_is_asked_for_by_the_workload_it_names() -> None:
    """An unknown scaled objects trigger is asked for by the workload it names."""
    assert ask({}, name="new").usage == frozenset()
    assert len(ask({"workload": "Deployment/workers"}, name="new").usage) == 1


def test_a_decision_reads_what_was_wanted_for_it() -> None:
    """A decision reads what was wanted for it."""
    found = ask({"idleAfter": "1h", "keepAlive": "requests"})
    (key,) = found.usage
    usage = usage_of(util("w-0", 0, 60), window=3600)
    assert usage.key == key
    decision = decided(cluster(usage=usage, scaled_object=so()), policy=ASKING, idleAfter="1h")
    assert decision.reason == "Busy"
