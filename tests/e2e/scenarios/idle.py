"""Idle servers go to zero, whole and not too soon, and come back."""

import time
from collections.abc import Mapping
from functools import partial

from tests.e2e.api import Object
from tests.e2e.scenarios.serving import (
    COOLDOWN,
    IDLE_AFTER,
    LATE,
    POLL,
    SOON,
    Server,
    Zero,
    server,
)
from tests.e2e.waiting import pause, together, until
from tests.e2e.world import Scenario, World

BY_POLICY = IDLE_AFTER + 3
"""Seconds; idleAfter of the namespace that the policy speaks of, longer than its default."""
PAST_HPA = 12
"""Seconds of cooldown in which the HPA, if it were asked to, would go down first."""
NAMESPACES: Mapping[str, Object] = {"i1": {"idleAfter": f"{BY_POLICY:.0f}s"}}
"""Namespaces of the policy with thresholds of their own."""
KEPT = COOLDOWN + 2 * POLL
"""Seconds that what is not kept would surely not outlast its verdict."""
ALMOST_NOTHING = 3.0
"""Percent; busy by the threshold, but neither in a mean over the window nor over the GPUs."""


def i1(world: World) -> str:
    """Take an idle server from N to zero in one step, and wake it by a request at the gateway."""
    world.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "i1"}})
    with server(world, "i1", replicas=3, gpus=2, namespace="i1") as s:
        world.gpus.running(s.namespace, 1)
        s.scaled(metadata={"replicas": "3"}, forget=("idleAfter",), cooldown=PAST_HPA, maximum=3)
        ready = s.runs(3)
        _kept_by_requests(s)
        s.polled()
        s.sizes.held(s.name, ready)
        last = s.burst(pod=1, gpu=1, percent=60)
        world.gpus.running(s.namespace, 0)
        took = s.zero(last, after=BY_POLICY)
        s.runs(0)
        pause(POLL)
        s.went_once(last)
        s.says("AtZero")
        return (
            f"from the last busy sample: {took} (3->0 in one step; idleAfter {BY_POLICY:.0f} s by "
            f"ConfigMap + cooldown {PAST_HPA} s); {_wakes(s, 3)}"
        )


def _kept_by_requests(s: Server) -> None:
    """Demand that requests in work keep what its GPUs would not."""
    found = s.says("Busy")
    idle = found["evidence"]["idle"]
    assert idle["keepAlive"] == "query vllm-requests says yes", idle
    assert {each["peakPercent"] for each in idle["devices"]} == {0}, idle
    rules = {each["key"]: each["rule"] for each in found["effective"]}
    assert rules["idleAfter"] == f"namespaces.{s.namespace}", rules
    s.stays_active(BY_POLICY)


def _wakes(s: Server, replicas: int) -> str:
    """Let a request come, and give what it took."""
    asked = time.monotonic()
    s.world.gpus.request(s.namespace)
    raised = s.sizes.until(s.name, 1, within=SOON, since=asked) - asked
    until(s.running, "a pod runs", within=SOON)
    first = time.monotonic() - asked
    full = s.runs(replicas) - asked
    assert s.sizes.steps(s.name, asked) == [1, replicas]
    return f"request: 0->1 after {raised:.1f} s, a pod Ready {first:.1f} s, all {full:.1f} s"


def i2(world: World) -> str:
    """Keep all pods for one sample of one GPU of one pod, and let them go when it is over."""
    with server(world, "i2", replicas=2, gpus=2) as s:
        world.gpus.busy(s.namespace)
        s.scaled(maximum=2)
        s.runs(2)
        s.polled()
        ready = s.burst(pod=0, gpu=0, percent=60)
        world.gpus.quiet(s.namespace)
        last = ready
        # Each pod and GPU in turn, and the next one before the last is out of the window.
        for pod, gpu in ((0, 0), (1, 1), (0, 1), (1, 0)):
            s.stays_active(last + IDLE_AFTER / 2 - time.monotonic())
            last = s.burst(pod, gpu, ALMOST_NOTHING)
        s.sizes.held(s.name, ready)
        found = s.says("Busy")
        assert found["evidence"]["idle"]["devices"][0]["peakPercent"] == ALMOST_NOTHING, found
        kept = last - ready
        took = s.zero(last, after=IDLE_AFTER)
        s.runs(0)
        s.went_once(last)
        return (
            f"4 bursts of {ALMOST_NOTHING:.0f} % kept 2 pods with 4 GPUs {kept:.0f} s; from the "
            f"last: {took} (idleAfter {IDLE_AFTER:.0f} s + cooldown {COOLDOWN} s)"
        )


def i3(world: World) -> str:
    """Give a pod that came anew its grace, though the others are idle for long."""
    grace = 6.0
    took = together(
        *(partial(_young, world, kind, grace=grace) for kind in ("Deployment", "StatefulSet"))
    )
    return (
        f"from the new pod's Ready: Deployment {took[0]}, StatefulSet {took[1]} "
        f"(grace {grace:.0f} s + idleAfter {IDLE_AFTER:.0f} s + cooldown {COOLDOWN} s)"
    )


def _young(world: World, kind: str, *, grace: float) -> Zero:
    """Give the time from the Ready of a new pod to zero."""
    with server(world, f"i3-{kind.lower()}", replicas=2, gpus=2, kind=kind) as s:
        world.gpus.running(s.namespace, 1)
        s.scaled(metadata={"graceAfterStart": f"{grace:.0f}s"}, maximum=2)
        ready = s.runs(2)
        # Idle for long by its GPUs, and kept by a request alone.
        s.says("Busy")
        s.polled()
        pod = s.running()[0]["metadata"]
        world.api.delete("Pod", pod["name"], s.namespace, grace=0)
        until(lambda: _anew(s, pod["uid"]), f"a pod in place of {pod['name']}", within=SOON)
        s.runs(2)
        began = s.youngest()
        world.gpus.running(s.namespace, 0)
        s.says("Starting")
        s.sizes.held(s.name, ready)
        return s.zero(began, after=grace + IDLE_AFTER)


def _anew(s: Server, uid: str) -> bool:
    pods = [pod["metadata"]["uid"] for pod in s.running()]
    return len(pods) == 2 and uid not in pods


def i4(world: World) -> str:
    """Change nothing in a dry run, and say so; without it the same server goes."""
    with server(world, "i4", replicas=2, gpus=2) as s:
        world.gpus.busy(s.namespace)
        s.scaled(metadata={"dryRun": "true"}, maximum=2)
        ready = s.runs(2)
        s.says("Busy")
        s.polled()
        assert _would(s) == [0.0, 0.0]
        world.gpus.quiet(s.namespace)
        quiet = time.monotonic()
        s.says("DryRun")
        said = time.monotonic() - quiet
        until(lambda: _would(s) == [1.0, 1.0], "both replicas count it", within=SOON)
        s.stays_active(KEPT)
        s.sizes.held(s.name, ready)
        dry = time.monotonic()
        s.scaled(maximum=2, metadata={"dryRun": "false"})
        took = s.sizes.until(s.name, 0, within=LATE, since=dry) - dry
        return (
            f"DryRun {said:.1f} s after the last work, dry_run_would_be_idle 0 -> 1, size held "
            f"{dry - quiet:.0f} s; 2->0 {took:.1f} s after dryRun was taken away"
        )


def _would(s: Server) -> list[float | None]:
    name = "dry_run_would_be_idle"
    labels = {"namespace": s.namespace, "scaled_object": s.name}
    return [s.world.scaler.sample(name, replica, **labels) for replica in (0, 1)]


def i5(world: World) -> str:
    """Shrink to the minimum and no further."""
    with server(world, "i5", replicas=3, gpus=2) as s:
        world.gpus.busy(s.namespace)
        s.scaled(minimum=1, maximum=3)
        ready = s.runs(3)
        s.says("Busy")
        s.polled()
        last = s.burst(pod=2, gpu=0, percent=60)
        world.gpus.quiet(s.namespace)
        s.sizes.held(s.name, ready)
        took = s.sizes.until(s.name, 1, within=SOON + IDLE_AFTER) - last
        assert took >= IDLE_AFTER - 1, f"at 1 after {took:.1f} s"
        pause(IDLE_AFTER + KEPT)
        assert s.sizes.steps(s.name, last) == [1]
        assert s.says("Idle")["value"] == 0
        return f"3->1 {took:.1f} s after the last work, and still 1 {IDLE_AFTER + KEPT:.0f} s later"


def i7(world: World) -> str:
    """Leave alone what its first request ever woke and has no node to run on."""
    with server(world, "i7", replicas=0, gpus=2, nodes=0, known=False) as s:
        s.scaled(metadata={"replicas": "2"}, maximum=2)
        s.says("AtZero")
        asked = time.monotonic()
        world.gpus.request(s.namespace)
        full = s.sizes.until(s.name, 2, within=SOON)
        s.says("Starting")
        # The gateway's counter is silent by then, and each time-out over once more.
        wait = 2 * (IDLE_AFTER + KEPT)
        s.stays_active(wait)
        s.sizes.held(s.name, full + 0.001)
        assert not s.running()
        s.node()
        s.runs(2)
        ran = s.youngest()
        took = s.zero(ran, after=IDLE_AFTER)
        return (
            f"0->2 {full - asked:.1f} s after the request, no node for {ran - full:.0f} s and "
            f"still 2; from when they ran: {took}"
        )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="I1", title="an idle server goes to zero and a request wakes it", play=i1),
    Scenario(id="I2", title="one busy sample of one GPU keeps all", play=i2),
    Scenario(id="I3", title="a young pod after a restart is not idle", play=i3),
    Scenario(id="I4", title="a dry run changes nothing and counts", play=i4),
    Scenario(id="I5", title="idle shrinks to minReplicaCount 1 and no further", play=i5),
    Scenario(id="I7", title="woken without a node, it is not taken back", play=i7),
)
