"""Faults of the API server: it is away for everybody, or it refuses us alone."""

import signal
import time
from contextlib import suppress

from tests.e2e.api import Object, RefusedError, is_true
from tests.e2e.devices import runs
from tests.e2e.keda import external_metrics_available
from tests.e2e.observed import RIGHT, SETTLED, WATCHED, Patients
from tests.e2e.policies import MAX_WATCH_AGE
from tests.e2e.replica import PREFIX
from tests.e2e.scenarios.patients import AILING, patients
from tests.e2e.waiting import pause, though_late, until
from tests.e2e.ward import POOL, job_of, queue_of
from tests.e2e.world import HEAVY, Scenario, World

AWAY = MAX_WATCH_AGE + 5
"""Seconds."""
EVERYBODY = tuple(RIGHT)
STALE = ("SourceStale",)
RECOVERY = 90.0
"""Seconds; those who are refused ask less and less often, up to each half minute."""


def f5(world: World) -> str:
    """The API server dies and comes back: nobody else ends, and nothing is scaled for it."""
    with patients(world) as p:
        since = time.monotonic()
        world.stack.programs.stop(world.stack.apiserver, signal.SIGKILL)
        try:
            held = p.holds(EVERYBODY, STALE, since, within=MAX_WATCH_AGE + 10)
            pause(since + AWAY - time.monotonic())
            assert p.held(EVERYBODY, STALE), f"no longer HOLD: {p.answers()}"
        finally:
            world.stack.programs.again(world.stack.apiserver)
            world.stack.programs.ready(world.stack.apiserver, world.api.ready)
        back = time.monotonic()
        with though_late(lambda: p.unchanged(since)):
            right = p.right(back, within=RECOVERY, meanwhile=lambda: _kubelets(world))
            everybody = _all_back(world, back)
        p.stays(WATCHED, since)
        grown = _grows(p)
        return (
            f"HOLD after {held:.1f} s, no size changed; away {back - since:.0f} s; "
            f"ours right {right:.1f} s after, all others {everybody:.0f} s; {grown}; {p.proven()}"
        )


def f6(world: World) -> str:
    """The API server refuses our reads, then grants them: the right is all that is mended."""
    with patients(world, AILING) as p:
        binding = p.scaler.binding
        since = time.monotonic()
        world.api.delete("ClusterRoleBinding", binding["metadata"]["name"])
        # A watch that is open stays so without the right to it; the next one is refused.
        p.passage.cut()
        try:
            held = p.holds(EVERYBODY, STALE, since, within=MAX_WATCH_AGE + 10)
            p.stays(WATCHED, since, lambda: p.held(EVERYBODY, STALE))
            _refused(p)
            lasted = time.monotonic() - since
        finally:
            world.api.apply(binding)
            granted = time.monotonic()
        with though_late(lambda: p.unchanged(since)):
            right = p.right(granted, within=RECOVERY)
        return (
            f"HOLD (SourceStale, 403) for all {len(EVERYBODY)} after {held:.1f} s, no size changed "
            f"in {lasted:.0f} s; right {right:.1f} s after it was granted"
        )


def _refused(p: Patients) -> None:
    """Demand that it is said what is refused, to people who look and to alerts."""
    for name in EVERYBODY:
        for replica in range(p.scaler.size):
            decision = p.scaler.decision(p.namespace, name, replica)
            assert decision
            assert "403" in decision["evidence"]["detail"], decision["evidence"]["detail"]
            labels = {"namespace": p.namespace, "scaled_object": name}
            assert p.scaler.sample("hold", replica, **labels) == 1.0
            assert p.scaler.replicas[replica].ready(), "who can answer HOLD is ready"


def _kubelets(world: World) -> None:
    """Call pods Ready, as their kubelets do once they are back; kwok leaves that to others.

    Nodes that were not heard of for a while are not ready, nor is what runs on them.
    """
    for pod in world.api.list("Pod"):
        if runs(pod) and not is_true(pod, "Ready"):
            told = [
                {**each, "status": "True"} if each["type"] == "Ready" else each
                for each in pod["status"]["conditions"]
            ]
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            change = {"status": {"conditions": told}}
            with suppress(RefusedError):  # it has gone meanwhile
                world.api.patch("Pod", name, namespace, change=change, sub="status")


def _all_back(world: World, since: float) -> float:
    """Wait until every program works with the API server again; give the seconds it took."""
    plane, controllers = world.stack.plane, world.stack.controllers
    programs = [plane.controllers, plane.scheduler, plane.kwok, controllers.kueue]
    programs += [controllers.jobset, controllers.trainer, controllers.kuberay]
    programs += [controllers.keda, controllers.adapter]
    ended = [each.name for each in programs if not each.runs]
    assert not ended, f"ended with the API server: {ended}"
    until(lambda: external_metrics_available(world.stack.plane), "external metrics", within=SETTLED)
    until(lambda: _sources_up(world), "every source of the main installation", within=RECOVERY)
    return time.monotonic() - since


def _sources_up(world: World) -> bool:
    metrics = "\n".join(each.metrics() for each in world.scaler.replicas)
    lines = [line for line in metrics.splitlines() if line.startswith(f"{PREFIX}source_up{{")]
    return bool(lines) and all(line.endswith(" 1.0") for line in lines)


def _grows(p: Patients) -> str:
    """Demand that Kueue, our answer, KEDA and the machines still work: quota brings a node."""
    since = time.monotonic()
    p.sizes[POOL] += 1
    p.world.api.apply(queue_of(p.scaler.namespace, nodes=p.sizes[POOL]))
    p.machine_sets.until(POOL, p.sizes[POOL], within=SETTLED)
    until(lambda: _runs(p, "waiting"), "the job that waited runs", within=SETTLED)
    p.world.api.apply(job_of(p.namespace, f"waiting-{p.sizes[POOL]}"))
    return f"a job that got quota ran on a new node {time.monotonic() - since:.1f} s later"


def _runs(p: Patients, job: str) -> bool:
    labels = f"batch.kubernetes.io/job-name={job}"
    found: list[Object] = p.world.api.list("Pod", p.namespace, labels=labels)
    return any(each["status"].get("phase") == "Running" for each in found)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F5", title="the API server is stopped and restarted", play=f5, alone=True),
    Scenario(
        id="F6",
        title="the API server refuses us, and grants again",
        play=f6,
        shares=HEAVY,
    ),
)
