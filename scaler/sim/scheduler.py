"""The scheduler, and as much of a kubelet as pods need to start and to end."""

from collections.abc import Mapping

from scaler.core.model import Amounts, Instant, Kind
from scaler.core.quantity import amounts, instant, minus, plus
from scaler.sim.clock import Clock
from scaler.sim.conditions import condition_of, set_condition
from scaler.sim.objects import Objects, name_of, timestamp
from scaler.sim.patches import Document
from scaler.sim.pods import DURATION, admits, finished, requests_of


def covers(space: Amounts, wanted: Amounts) -> bool:
    """Say whether all that is wanted is there."""
    there = dict(space)
    return all(there.get(resource, 0) >= value for resource, value in wanted)


def claim_of(pod: Document) -> Amounts:
    """Give what a pod takes of its node: its requests, and one of the node's pods."""
    return plus(requests_of(pod["spec"]), (("pods", 1),))


def free_space(objects: Objects) -> dict[str, Amounts]:
    """Give each node's allocatable without the claims of its unfinished pods."""
    nodes = objects.all(Kind.NODES)
    free = {n["metadata"]["name"]: amounts(n["status"]["allocatable"]) for n in nodes}
    for pod in objects.all(Kind.PODS):
        node = pod["spec"].get("nodeName")
        if node in free and not finished(pod):
            free[node] = minus(free[node], claim_of(pod))
    return free


class Scheduler:
    """Bind pods to nodes with room, start bound ones, end those whose time is over."""

    def __init__(self, *, objects: Objects, clock: Clock, start_seconds: float = 10.0) -> None:
        self._objects = objects
        self._clock = clock
        self._start_seconds = start_seconds

    def step(self) -> None:
        """Move every pod on."""
        free = free_space(self._objects)
        now = self._clock.now()
        for pod in sorted(self._objects.all(Kind.PODS), key=_order):
            if finished(pod):
                continue
            if "nodeName" not in pod["spec"]:
                self._place(pod, free, now)
            elif pod["status"]["phase"] == "Pending":
                self._start(pod, now)
            else:
                self._end(pod, now)

    def _place(self, pod: Document, free: dict[str, Amounts], now: Instant) -> None:
        if pod["spec"].get("schedulingGates"):
            return
        node = self._choose(pod, free)

        def write(after: Document) -> None:
            after.setdefault("status", {})["phase"] = "Pending"
            reason, message = ("Scheduled", "") if node else ("Unschedulable", _unavailable(free))
            set_condition(
                after, "PodScheduled", status=bool(node), reason=reason, message=message, now=now
            )
            if node:
                after["spec"]["nodeName"] = node

        self._objects.modify(Kind.PODS, name_of(pod), write)
        if node:
            free[node] = minus(free[node], claim_of(pod))

    def _choose(self, pod: Document, free: Mapping[str, Amounts]) -> str | None:
        wanted = claim_of(pod)
        for node in self._objects.all(Kind.NODES):
            name: str = node["metadata"]["name"]
            if name in free and covers(free[name], wanted) and admits(node, pod["spec"]):
                return name
        return None

    def _start(self, pod: Document, now: Instant) -> None:
        bound = instant(condition_of(pod, "PodScheduled")["lastTransitionTime"])
        if now < bound + self._start_seconds:
            return

        def write(after: Document) -> None:
            after["status"].update(phase="Running", startTime=timestamp(now))
            set_condition(after, "Ready", status=True, reason="", message="", now=now)

        self._objects.modify(Kind.PODS, name_of(pod), write)

    def _end(self, pod: Document, now: Instant) -> None:
        duration = pod["metadata"].get("annotations", {}).get(DURATION)
        if duration is None or now < instant(pod["status"]["startTime"]) + float(duration):
            return

        def write(after: Document) -> None:
            after["status"]["phase"] = "Succeeded"
            set_condition(after, "Ready", status=False, reason="PodCompleted", message="", now=now)

        self._objects.modify(Kind.PODS, name_of(pod), write)


def _order(pod: Document) -> tuple[int, int]:
    return (-pod["spec"].get("priority", 0), int(pod["metadata"]["resourceVersion"]))


def _unavailable(nodes: Mapping[str, Amounts]) -> str:
    return f"0/{len(nodes)} nodes are available: Insufficient resources or no matching node."
