"""The demo's act about an inference service: idle, unknown, at zero, woken."""

from typing import Final

from scaler.core.model import Kind
from scaler.sim.cluster import Cluster
from scaler.sim.scenario import COOLDOWN, IDLE_AFTER, LLM
from scaler.sim.timeline import Timeline
from scaler.sim.witness import Witness

MINUTE: Final = 60.0
OUTAGE: Final = 3.5 * MINUTE


class InferenceAct:
    """Play the steps about the inference service."""

    def __init__(self, *, cluster: Cluster, timeline: Timeline, witness: Witness) -> None:
        self._cluster = cluster
        self._timeline = timeline
        self._witness = witness

    def play(self) -> None:
        """Play all steps.

        Raises:
            StepFailedError: a step did not happen, or a promise was broken meanwhile.
        """
        self._requests_stop()
        self._prometheus_goes_away()
        self._inference_goes_to_zero()
        self._request_wakes_it()

    def _requests_stop(self) -> None:
        self._timeline.title("Nobody asks the llm anything any more; after 5m it counts as idle.")
        self._cluster.set_load(LLM, percent=0)
        self._timeline.say(LLM[0], "the last request is answered")
        self._witness.hold_still(
            "the llm is kept until then",
            self._llm_stays,
            seconds=IDLE_AFTER - 2 * MINUTE,
            expected="1 replica",
            seen=self._llm_seen,
        )

    def _prometheus_goes_away(self) -> None:
        self._timeline.title(
            "Before that Prometheus goes away. Unknown is not idle: nothing may be scaled down."
        )
        self._cluster.stop_prometheus()
        self._timeline.say("prometheus", "goes away")
        self._witness.expect(
            "the service holds",
            lambda: self._witness.said(LLM).status == "HOLD",
            within=2 * MINUTE,
            expected="HOLD for the llm",
            seen=self._llm_seen,
        )
        self._witness.expect(
            "an Event says so",
            lambda: "Hold" in self._witness.events(LLM),
            within=3 * MINUTE,
            expected="an Event with reason Hold on the ScaledObject",
            seen=lambda: self._witness.events(LLM),
        )
        self._witness.hold_still(
            "nothing is scaled down without Prometheus",
            lambda: self._llm_stays() and self._witness.said(LLM).status == "HOLD",
            seconds=OUTAGE,
            expected="HOLD and 1 replica",
            seen=self._llm_seen,
        )
        self._cluster.resume_prometheus()
        self._timeline.say("prometheus", "is back, with a gap in its samples")

    def _inference_goes_to_zero(self) -> None:
        self._witness.expect(
            "the llm is seen idle",
            lambda: self._witness.said(LLM).reason == "Idle",
            within=4 * IDLE_AFTER,
            expected="inactive, reason Idle",
            seen=self._llm_seen,
        )
        self._witness.expect(
            "the llm goes to zero",
            lambda: not self._llm_replicas() and not self._cluster.pods(*LLM),
            within=COOLDOWN + 5 * MINUTE,
            expected="0 replicas and no pods",
            seen=self._llm_seen,
        )
        waited = self._cluster.clock.now() - self._witness.last_active(LLM)
        self._witness.check(
            "the cooldown was kept",
            happened=waited >= COOLDOWN,
            expected=f"at least {COOLDOWN:.0f} s since the last active poll",
            seen=f"{waited:.0f} s",
        )

    def _request_wakes_it(self) -> None:
        self._timeline.title("A request comes in and waits in the gateway.")
        self._cluster.send_requests(LLM, 1)
        self._timeline.say(LLM[0], "1 request waits")
        self._witness.expect(
            "the request wakes the llm",
            lambda: self._witness.running(LLM) == 1,
            within=5 * MINUTE,
            expected="1 replica, and its pod Running",
            seen=self._llm_seen,
        )
        self._cluster.set_load(LLM, percent=48, requests=1)
        self._cluster.send_requests(LLM, 0)
        self._timeline.say(LLM[0], "the request is answered")
        self._witness.hold_still(
            "the llm stays",
            self._llm_stays,
            seconds=MINUTE,
            expected="1 replica",
            seen=self._llm_seen,
        )

    def _llm_replicas(self) -> int:
        return self._cluster.replicas(Kind.DEPLOYMENTS, LLM)

    def _llm_stays(self) -> bool:
        return self._llm_replicas() == self._witness.running(LLM) == 1

    def _llm_seen(self) -> str:
        said = self._witness.said(LLM)
        return f"{self._llm_replicas()} replicas; {said}, {said.reason}: {said.detail}"
