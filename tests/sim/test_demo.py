"""The demo fails loudly: a step that did not happen, and a promise that was broken."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scaler.core.model import Kind
from scaler.sim.clock import FastClock, ManualClock
from scaler.sim.cluster import Cluster
from scaler.sim.demo import Demo
from scaler.sim.kinds import EVENTS, MACHINE_SETS
from scaler.sim.nodes import GPU, NAMESPACE
from scaler.sim.objects import name_of
from scaler.sim.scenario import LLM, NODE, POOL, VISION, furnish
from scaler.sim.scenario_ray import RAY_POOL
from scaler.sim.story import Story
from scaler.sim.timeline import StepFailedError, Timeline
from scaler.sim.witness import Witness

NOBODY = "http://127.0.0.1:1"
"""A port where nothing answers."""


@dataclass(kw_only=True)
class Stage:
    """A cluster with a job running on a pool of two nodes, and a story about it."""

    cluster: Cluster
    out: io.StringIO
    story: Story
    witness: Witness

    def run(self, seconds: float) -> None:
        """Let time pass in steps of ten seconds."""
        clock = self.cluster.clock
        assert isinstance(clock, ManualClock)
        for _ in range(round(seconds / 10)):
            clock.advance(10)
            self.cluster.step()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Play a cluster by hand, without KEDA and without the service."""
    clock = ManualClock()
    cluster = Cluster(clock=clock)
    cluster.start(by_hand=True)
    cluster.add_pool(POOL, capacity=NODE, nodes=2)
    cluster.add_flavor(POOL, pool=POOL)
    cluster.add_team(VISION, flavor=POOL, quota={"cpu": "100", GPU: "16"})
    cluster.submit((VISION, "j"), pods=2, requests={GPU: "8"}, duration=3600)
    out = io.StringIO()
    timeline = Timeline(out=out, clock=clock, start=clock.now())
    story = Story(
        cluster=cluster,
        timeline=timeline,
        status_url=NOBODY,
        pools=(POOL, RAY_POOL),
        targets=((Kind.DEPLOYMENTS, LLM),),
    )
    witness = Witness(cluster=cluster, story=story, timeline=timeline)
    made = Stage(cluster=cluster, out=out, story=story, witness=witness)
    made.run(60)
    story.look()
    yield made
    cluster.stop()


def test_lines(stage: Stage) -> None:
    """Each change is told once, with the cluster's time."""
    stage.story.look()
    assert stage.out.getvalue().count("team-vision/j admitted") == 1
    stage.run(3660)
    stage.story.look()
    assert "62:00  kueue        team-vision/j finished" in stage.out.getvalue()


def test_shrunken_pool(stage: Stage) -> None:
    """A pool that is scaled down ends the demo."""
    name = (NAMESPACE, POOL)
    stage.cluster.objects.modify(MACHINE_SETS, name, lambda d: d["spec"].update(replicas=1))
    with pytest.raises(StepFailedError, match="stays at 2 or more"):
        stage.story.look()


def test_lost_pod(stage: Stage) -> None:
    """A Job's pod that disappears before it has finished ends the demo."""
    pod = stage.cluster.pods(VISION, "j")[0]
    stage.cluster.objects.delete(Kind.PODS, name_of(pod))
    with pytest.raises(StepFailedError, match="a running job is never the victim"):
        stage.story.look()


def test_finished_pods(stage: Stage) -> None:
    """A pod may go once it has finished."""
    stage.run(3660)
    stage.story.look()
    for pod in stage.cluster.pods(VISION, "j"):
        stage.cluster.objects.delete(Kind.PODS, name_of(pod))
    stage.story.look()


def _scale(stage: Stage, **status: object) -> None:
    """Let a WorkerScale say something."""
    name = (VISION, "w")
    if stage.cluster.objects.get(Kind.WORKER_SCALES, name) is None:
        document = {"metadata": {"namespace": VISION, "name": "w"}, "spec": {"mode": "Hold"}}
        stage.cluster.objects.create(Kind.WORKER_SCALES, document)
    stage.cluster.objects.modify(Kind.WORKER_SCALES, name, lambda d: d.update(status=status))
    stage.story.look()


def test_worker_scale_lines(stage: Stage) -> None:
    """A WorkerScale is told of when its state or reason changes, and not for its words."""
    _scale(stage, state="NotIdle", reason="NotIdle", message="busy with 71 %")
    _scale(stage, state="NotIdle", reason="NotIdle", message="busy with 72 %")
    _scale(stage, state="Held", reason="Idle", message="2 pods are away")
    told = [line[7:] for line in stage.out.getvalue().splitlines() if "team-vision/w" in line]
    assert told == [
        "actuator     team-vision/w: NotIdle, NotIdle: busy with 71 %",
        "actuator     team-vision/w: Held, Idle: 2 pods are away",
    ]


def test_event_lines(stage: Stage) -> None:
    """What an Event says is told once, however many objects it is written on."""
    for name, kind in (("e1", "WorkerScale"), ("e2", "RayCluster")):
        event = {
            "metadata": {"namespace": VISION, "name": name},
            "reason": "Held",
            "message": "2 pods are away",
            "involvedObject": {"kind": kind, "namespace": VISION, "name": "w"},
        }
        stage.cluster.objects.create(EVENTS, event)
        stage.story.look()
    told = [line[7:] for line in stage.out.getvalue().splitlines() if "event" in line]
    assert told == [
        "event        Held on WorkerScale team-vision/w: 2 pods are away",
        "event        Held on RayCluster team-vision/w",
    ]


def test_shrunken_second_pool(stage: Stage) -> None:
    """Each pool is watched, one that comes later too."""
    stage.cluster.add_pool(RAY_POOL, capacity=NODE, nodes=2)
    stage.story.look()
    name = (NAMESPACE, RAY_POOL)
    stage.cluster.objects.modify(MACHINE_SETS, name, lambda d: d["spec"].update(replicas=1))
    with pytest.raises(StepFailedError, match="MachineSet h100 stays at 2 or more"):
        stage.story.look()


def test_broken_cluster(stage: Stage) -> None:
    """An error in the cluster's own controllers is no step that happened."""
    stage.cluster.broken = RuntimeError("a controller failed")
    with pytest.raises(StepFailedError, match="a controller failed"):
        stage.story.look()


def test_failed_check(stage: Stage) -> None:
    """A failure names the step, what was expected and what was seen."""
    with pytest.raises(StepFailedError) as caught:
        stage.witness.check("it grows", happened=False, expected="3 nodes", seen="2 nodes")
    assert str(caught.value).splitlines() == [
        "step 'it grows' did not happen",
        "  expected: 3 nodes",
        "  seen: 2 nodes",
    ]


def test_unknown_is_not_a_decision(stage: Stage) -> None:
    """While the status port doesn't answer, no earlier decision counts."""
    assert stage.witness.said(LLM).status == "unknown"


def test_service_that_never_answers() -> None:
    """Without a service the first step fails, and the demo with it."""
    cluster = Cluster(clock=FastClock(speed=2000))
    cluster.start()
    try:
        furnish(cluster, scaler_address="127.0.0.1:1")
        demo = Demo(
            cluster=cluster, status_url=NOBODY, scaler_address="127.0.0.1:1", out=io.StringIO()
        )
        with pytest.raises(StepFailedError, match="the service is ready"):
            demo.play()
    finally:
        cluster.stop()
