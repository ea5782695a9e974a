"""What the demo reads of the cluster and the service, and how it judges a step."""

from collections.abc import Callable

from scaler.core.model import Instant, Kind, Name
from scaler.core.quantity import instant
from scaler.sim.cluster import Cluster
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.kinds import EVENTS
from scaler.sim.patches import Document
from scaler.sim.story import Story
from scaler.sim.timeline import Said, StepFailedError, Timeline, wait


class Witness:
    """Wait for the cluster to show an effect, and fail loudly where it doesn't."""

    def __init__(self, *, cluster: Cluster, story: Story, timeline: Timeline) -> None:
        self._cluster = cluster
        self._story = story
        self._timeline = timeline

    def expect(
        self,
        step: str,
        reached: Callable[[], bool],
        *,
        within: float,
        expected: str,
        seen: Callable[[], object],
    ) -> None:
        """Wait until it is so.

        Raises:
            StepFailedError: it was not so within that many cluster seconds.
        """
        happened = wait(self._cluster.clock, reached, within=within, look=self._story.look)
        self.check(step, happened=happened, expected=expected, seen=seen())

    def hold_still(
        self,
        step: str,
        stays: Callable[[], bool],
        *,
        seconds: float,
        expected: str,
        seen: Callable[[], object],
    ) -> None:
        """Watch that it stays so.

        Raises:
            StepFailedError: it changed within that many cluster seconds.
        """
        changed = wait(
            self._cluster.clock, lambda: not stays(), within=seconds, look=self._story.look
        )
        self.check(step, happened=not changed, expected=expected, seen=seen())

    def check(self, step: str, *, happened: bool, expected: str, seen: object) -> None:
        """Say that a step happened.

        Raises:
            StepFailedError: it did not.
        """
        if not happened:
            raise StepFailedError(step=step, expected=expected, seen=str(seen))
        self._timeline.say("check", f"ok: {step}")

    def said(self, scaled_object: Name) -> Said:
        """Give the service's decision for a ScaledObject."""
        unknown = Said(status="unknown", value=None, active=None, reason="", detail="")
        return self._story.decisions.get(scaled_object, unknown)

    def running(self, owner: Name) -> int:
        """Count the Running pods of a Job, Deployment or RayCluster."""
        pods = self._cluster.pods(*owner)
        return sum(pod["status"].get("phase") == "Running" for pod in pods)

    def waits_for(self, job: Name) -> str:
        """Give the reason of a Job's Workload's QuotaReserved condition."""
        return str(condition_of(self.workload(job), "QuotaReserved").get("reason"))

    def finished(self, job: Name) -> bool:
        """Say whether a Job's Workload has finished."""
        return is_true(self.workload(job), "Finished")

    def last_active(self, scaled_object: Name) -> Instant:
        """Give KEDA's lastActiveTime."""
        document = self._cluster.objects.get(Kind.SCALED_OBJECTS, scaled_object) or {}
        return instant(document["status"]["lastActiveTime"])

    def events(self, scaled_object: Name) -> list[str]:
        """Give the reasons of the Events on a ScaledObject."""
        return [
            event["reason"]
            for event in self._cluster.objects.all(EVENTS)
            if (event["involvedObject"]["namespace"], event["involvedObject"]["name"])
            == scaled_object
        ]

    def workload(self, job: Name) -> Document:
        """Give the Workload of a Job or RayCluster, an empty object while it has none."""
        for workload in self._cluster.objects.all(Kind.WORKLOADS):
            metadata = workload["metadata"]
            if (metadata["namespace"], metadata["ownerReferences"][0]["name"]) == job:
                return workload
        return {}
