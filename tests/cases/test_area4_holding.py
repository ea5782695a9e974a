"""Area 4 once more, with a WorkerScale: what must not be culled is not held either."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from scaler.core.model import Kind
from tests.cases.cluster import nodes
from tests.cases.frame import Case, Run, policy
from tests.cases.objects import LONG_AGO, Object, admitted, every, metadata, owner, pods, with_
from tests.cases.series import Series, power, util

IGNORE = "kueue-gpu-scaler.dev/ignore"
H100 = "NVIDIA H100 80GB HBM3"
QUIET = (util("a-0", 0, 0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rested:
    """A RayCluster of one worker for which KEDA wants zero; as given it has rested for long."""

    series: Sequence[Series] = QUIET
    ready: float = LONG_AGO
    t: float = 0
    policy: Mapping[str, object] | None = None
    unread: frozenset[Kind] = frozenset()
    ignored: str = ""
    """Which object has the opt-out."""

    def case(self) -> Case:
        """Build the bundle that asks about its WorkerScale."""
        (pod,) = pods("a", 1, ready=self.ready)
        job = admitted("a", at=self.ready, owners=[owner("RayCluster", "rc", api="ray.io/v1")])
        return Case(
            scaled_object=self._marked("scale", worker_scale()),
            objects=every(
                nodes(1), ray_cluster(), self._marked("workload", job), self._marked("pod", pod)
            ),
            series=self.series,
            policy=policy() if self.policy is None else self.policy,
            t=self.t,
            unread=self.unread,
        )

    def _marked(self, name: str, built: Object) -> Object:
        marks = {IGNORE: "True"} if name == self.ignored else {}
        return with_(built, metadata={"annotations": {**_annotations(built), **marks}})


def _annotations(built: Object) -> Mapping[str, str]:
    whole: Any = built["metadata"]
    found: Mapping[str, str] = whole["annotations"]
    return found


def ray_cluster() -> Object:
    """Build a RayCluster with one worker group."""
    groups = [{"groupName": "main", "replicas": 1}]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": metadata("rc"),
        "spec": {"workerGroupSpecs": groups},
    }


def worker_scale() -> Object:
    """Build a WorkerScale whose size was read, and which is asked for zero."""
    target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "rc", "component": "main"}
    return {
        "apiVersion": "kueue-gpu-scaler.dev/v1alpha1",
        "kind": "WorkerScale",
        "metadata": metadata("rc"),
        "spec": {"target": target, "mode": "Hold", "replicas": 0},
        "status": {"size": 1},
    }


def planned(explain: Run, rested: Rested) -> tuple[str, str, bool]:
    """Give the state, what it rests on, and whether the workers are taken."""
    told = json.loads(explain(rested.case()).out)
    (decision,) = told["decisions"]
    taken = any(step.startswith("suspend worker group main") for step in told["steps"])
    return told["state"], decision["reason"], taken


def test_without_any_of_the_reports_it_is_held(explain: Run) -> None:
    """The same cluster at rest is taken, so that the cases below can fail."""
    assert planned(explain, Rested()) == ("Holding", "Idle", True)


EVERY_TEN_MINUTES: dict[int, float | None] = {
    moment: level
    for at in range(LONG_AGO, 3600, 600)
    for moment, level in ((at, 40.0), (at + 30, 0.0))
}
WATTS = policy(safety={"powerVetoWatts": {H100: 150}})


def stays(explain: Run, rested: Rested, reason: str) -> None:
    """Assert that the decision says so, and that no worker is taken."""
    state, said, taken = planned(explain, rested)
    assert (said, taken) == (reason, False)
    assert state in ("NotIdle", "Refused", "Running")


@pytest.mark.parametrize("t", [0, 480, 1799])
def test_c01_a_young_worker_is_not_taken(explain: Run, t: float) -> None:
    """It may work on the CPU at first: nothing is taken before t = 1800."""
    young = Rested(ready=0, t=t, series=(util("a-0", 0, {0: 0}),))
    stays(explain, young, "Starting")
    assert planned(explain, replace(young, t=1800)) == ("Holding", "Idle", True)


def test_c02_one_sample_in_ten_minutes_keeps_it(explain: Run) -> None:
    """The maximum in the window counts here too."""
    series = (util("a-0", 0, EVERY_TEN_MINUTES),)
    two_hours = policy(defaults={"idleAfter": "2h"})
    stays(explain, Rested(series=series, policy=two_hours, t=599), "Busy")


def test_c03_pods_unread_take_nothing(explain: Run) -> None:
    """A 403 on pods says nothing of them."""
    rested = Rested(unread=frozenset({Kind.PODS}))
    stays(explain, rested, "NotSynced")
    assert explain(rested.case()).code == 3


def test_c04_never_a_sample_takes_nothing(explain: Run) -> None:
    """A worker without samples is unknown, whatever its age."""
    stays(explain, Rested(series=()), "NoSamples")


@pytest.mark.parametrize("where", ["workload", "pod"])
def test_c07_opted_out_workers_stay(explain: Run, where: str) -> None:
    """On the Workload, and on a pod as from its template."""
    stays(explain, Rested(ignored=where), "OptedOut")


def test_c08_a_short_burst_keeps_it(explain: Run) -> None:
    """One sample of 12 is work."""
    stays(explain, Rested(series=(util("a-0", 0, {LONG_AGO: 0, -900: 12, -870: 0}),)), "Busy")


def test_c08_high_power_keeps_it(explain: Run) -> None:
    """310 W at 0 % is work."""
    series = (util("a-0", 0, 0, modelName=H100), power("a-0", 0, 310, modelName=H100))
    stays(explain, Rested(series=series, policy=WATTS), "Busy")


def test_c05_ages_count_in_any_zone(explain: Run) -> None:
    """C05: a pod that is Ready since 19:00+09:00 is judged from 10:30Z on."""
    since = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T19:00:00+09:00"}]
    found = {}
    for t in (1799, 1800):
        case = Rested(ready=0, t=t).case()
        objects = [
            with_(one, status={"conditions": since}) if one["kind"] == "Pod" else one
            for one in case.objects
        ]
        told = json.loads(explain(replace(case, objects=objects)).out)
        found[t] = told["state"]
    assert found == {1799: "NotIdle", 1800: "Holding"}


def test_c06_a_bad_policy_plans_nothing(explain: Run) -> None:
    """C06: a key under an old name is refused by its path, and no plan comes of it."""
    ran = explain(Rested(policy=policy(defaults={"idle_time": "5"})).case())
    assert (ran.code, ran.out) == (2, "")
    assert "defaults.idle_time" in ran.err


def test_c07_the_opt_out_on_the_worker_scale(explain: Run) -> None:
    """C07: it takes the one object that KEDA scales out of all of this."""
    state, _, taken = planned(explain, Rested(ignored="scale"))
    assert (state, taken) == ("Running", False)
