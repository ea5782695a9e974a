"""A WorkerScale is planned again when what was planned by may no longer be so."""

from dataclasses import replace

from scaler.actuator.actuator import FULL_SECONDS
from scaler.actuator.watched import QUIET_SECONDS, WORDS_SECONDS
from scaler.core.hold.steps import Plan, WriteStatus
from scaler.core.hold.words import State
from scaler.core.model import WorkerScale
from scaler.core.reasons import Reason
from tests.actuator.stage import Stage, decided, group, make_scale, planned, taking
from tests.builders import make_controlled, make_owner, make_workload


def test_one_at_rest_is_not_planned_again() -> None:
    """However often the cluster around it changes."""
    stage = Stage(make_scale())
    stage.look()
    for n in range(20):
        stage.show(workloads=[make_workload(name=f"other-{n}")])
        stage.look(after=1)
    assert stage.plannings == 1


def test_what_a_plan_reads_makes_it_be_planned_again() -> None:
    """Workloads, their pods, what the target controls, and the WorkerScale itself."""
    scale = make_scale()
    stage = Stage(scale)
    stage.look()
    cluster = make_controlled(uid="ray-uid", controller_uid=None, name="ray-train")
    owner = make_owner(uid="ray-uid", kind="RayCluster", name="ray-train")
    workload = make_workload(owners=(owner,), admitted=True)
    child = make_controlled(uid="child", controller_uid="ray-uid", kind="Job")
    for workloads, owners in (
        ((), (cluster,)),
        ((workload,), (cluster,)),
        ((replace(workload, evicted=True),), (cluster,)),
        ((workload,), (cluster, child)),
        ((workload,), (cluster, replace(child, generation=2))),
    ):
        before = stage.plannings
        stage.show(workloads=workloads, owners=owners)
        stage.look(after=1)
        stage.look(after=1)
        assert stage.plannings == before + 1
    stage.kept.scales[scale.key] = replace(scale, replicas=1)
    stage.show(workloads=(workload,), owners=(cluster, replace(child, generation=2)))
    before = stage.plannings
    stage.look(after=1)
    assert stage.plannings == before + 1


def test_another_verdict_makes_it_be_planned_again_other_words_do_not() -> None:
    """The detail of a Decision changes with every sample."""
    scale = make_scale()
    stage = Stage(scale)
    stage.look()
    stage.decisions[scale.key] = decided(scale, detail="idle for 301 s")
    stage.publish()
    stage.look(after=1)
    assert stage.plannings == 1
    stage.decisions[scale.key] = decided(scale, Reason.PROMETHEUS_FAILED)
    stage.publish()
    stage.look(after=1)
    assert stage.asked[1:] == [("train", (Reason.PROMETHEUS_FAILED,))]


def test_all_are_planned_now_and_then() -> None:
    """Whatever the comparison may have missed."""
    stage = Stage(make_scale("a"), make_scale("b"))
    stage.look()
    stage.look(after=FULL_SECONDS - 1)
    assert stage.plannings == 2
    stage.look(after=1)
    assert stage.plannings == 4


def test_a_plan_is_made_again_when_it_asked_for_that() -> None:
    """A maxHold runs out although nothing changes."""
    stage = Stage(make_scale())
    stage.script = lambda scale: planned(scale, look_again_in=7.0)
    stage.look()
    stage.look(after=6.9)
    assert stage.plannings == 1
    stage.look(after=0.1)
    assert stage.plannings == 2


def test_after_a_write_nothing_is_planned_before_the_watch_shows_it() -> None:
    """Else it would be planned by what is no longer so."""
    cluster = make_controlled(uid="ray-uid", controller_uid=None, name="ray-train")
    stage = Stage(make_scale())
    stage.show(owners=[cluster])
    stage.script = taking
    stage.look()
    planned_before = stage.plannings
    stage.look(after=0.5)
    # The WorkerScale's watch is ahead of the RayCluster's.
    stage.show(owners=[cluster])
    stage.look(after=0.5)
    assert stage.plannings == planned_before
    stage.show(owners=[replace(cluster, generation=2)])
    stage.look(after=0.5)
    assert stage.plannings > planned_before


def test_a_write_that_is_never_seen_is_planned_again_after_a_while() -> None:
    """The level counts, not the edge."""
    stage = Stage(make_scale())
    stage.script = lambda scale: planned(scale, group(suspend=False))
    stage.look()
    stage.look(after=QUIET_SECONDS - 0.1)
    assert stage.plannings == 1
    assert stage.look(after=0.1) == ["SetGroup"] * 2


def test_words_alone_are_not_written_at_every_sample() -> None:
    """The evidence of a busy one is another one every few seconds."""
    stage = Stage(make_scale())
    texts = iter(f"busy at {n} %" for n in range(100))

    def script(scale: WorkerScale) -> Plan:
        status = replace(scale.status, message=next(texts))
        return planned(scale, WriteStatus(status=status), status=status)

    stage.script = script
    assert stage.look() == ["WriteStatus"]
    stage.show()
    for _ in range(10):
        stage.show(owners=[make_controlled(uid="u", controller_uid=None, name="ray-train")])
        stage.look(after=WORDS_SECONDS / 10 - 0.1)
        stage.show()
    assert stage.kept.steps() == ["WriteStatus"]
    assert stage.look(after=WORDS_SECONDS / 10) == ["WriteStatus"] * 2


def test_another_state_is_written_at_once() -> None:
    """More than words."""
    stage = Stage(make_scale())
    states = iter((State.NOT_IDLE, State.REFUSED))

    def script(scale: WorkerScale) -> Plan:
        status = replace(scale.status, state=next(states))
        return planned(scale, WriteStatus(status=status), status=status)

    stage.script = script
    stage.look()
    stage.show()
    assert stage.look() == ["WriteStatus"] * 2
