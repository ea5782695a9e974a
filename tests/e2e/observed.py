"""Patients: workloads on which wrong answers would show, and the installation that they ask."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tests.e2e.apart import SAMPLE_AGE, policy_of
from tests.e2e.api import Object
from tests.e2e.control_plane import HPA_STABILIZATION, HPA_SYNC
from tests.e2e.gpus import Gpus
from tests.e2e.passage import Passage
from tests.e2e.prometheus import Prometheus
from tests.e2e.service import Installation
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import NeverCameError, pause, though_late, until
from tests.e2e.ward import COOLDOWN, IDLE_AFTER, POOL, POOL_SIZE, SIZES
from tests.e2e.world import World

SETTLED = 120.0
"""Seconds for a healthy installation to say what is right of every patient."""
WATCHED = IDLE_AFTER + COOLDOWN + HPA_SYNC + HPA_STABILIZATION + SAMPLE_AGE
"""Seconds after which a wrong answer has been acted on."""
TOLD = 30.0
"""Seconds for an Event; they are written one at a time."""
RIGHT: Mapping[str, str] = {
    "busy": "Busy",
    "dry": "DryRun",
    "asleep": "AtZero",
    "kept": "Busy",
    POOL: "QuotaExhausted",
}
"""The reason of each decision while nothing is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patients:
    """One installation with its sources, and the workloads that it decides on."""

    world: World
    scaler: Installation
    prometheus: Prometheus
    gpus: Gpus
    passage: Passage
    """The replicas' way to the API server."""
    namespace: str
    deployments: Sizes
    machine_sets: Sizes
    sizes: dict[str, int] = field(default_factory=lambda: {**SIZES, POOL: POOL_SIZE})
    """The size that each has, and has to keep."""

    def policy(self, **safety: object) -> str:
        """Write the installation's policy, with other values under `safety`."""
        return policy_of(self.prometheus.url, self.scaler.namespace, **safety)

    def size(self, name: str) -> int | None:
        """Give a patient's size as last seen."""
        return self._sizes(name).of(name)

    def unchanged(self, since: float) -> None:
        """Demand that no patient was given another size since a monotonic time.

        Raises:
            AssertionError: one was; every step is in the message.
        """
        steps = {name: self._sizes(name).steps(name, since) for name in RIGHT}
        assert not any(steps.values()), f"sizes changed: {steps}"
        wrong = {name: self.size(name) for name in RIGHT if self.size(name) != self.sizes[name]}
        assert not wrong, f"sizes are {wrong}"

    def told(self, name: str, replica: int = 0) -> tuple[str, str]:
        """Give status and reason of a replica's decision; words of our own where it has none."""
        found = self.scaler.decision(self.namespace, name, replica)
        return (found["status"], found["reason"]) if found else ("none", "none")

    def every(self, names: Iterable[str], fits: Callable[[str, str, str], bool]) -> bool:
        """Say whether each replica's decision on each name fits: name, status, reason."""
        replicas = [index for index, each in enumerate(self.scaler.replicas) if each.answers]
        answers = [(name, *self.told(name, index)) for name in names for index in replicas]
        return bool(answers) and all(fits(*each) for each in answers)

    def answers(self) -> dict[str, list[tuple[str, str]]]:
        """Give all replicas' answers by name, for messages."""
        replicas = [index for index, each in enumerate(self.scaler.replicas) if each.answers]
        return {name: [self.told(name, index) for index in replicas] for name in RIGHT}

    def right(
        self,
        since: float,
        *,
        within: float = SETTLED,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> float:
        """Wait until every answer is right again; give the seconds since a monotonic time.

        Raises:
            NeverCameError: one is not, with all answers in the message.
        """

        def fits(name: str, status: str, reason: str) -> bool:
            return (status, reason) == ("OK", RIGHT[name])

        def look() -> bool:
            meanwhile()
            return self.every(RIGHT, fits)

        self._wait(look, "all answers are right", within)
        return time.monotonic() - since

    def holds(
        self, names: Sequence[str], reasons: Sequence[str], since: float, *, within: float = 20.0
    ) -> float:
        """Wait until each replica answers HOLD for each name; give the seconds since a time.

        Raises:
            NeverCameError: one does not, with all answers in the message.
            AssertionError: no patient may be given another size meanwhile, and one was.
        """
        with though_late(lambda: self.unchanged(since)):
            self._wait(lambda: self.held(names, reasons), f"HOLD by {reasons} for {names}", within)
        return time.monotonic() - since

    def held(self, names: Sequence[str], reasons: Sequence[str]) -> bool:
        """Say whether each replica answers HOLD for each name now, for one of these reasons."""
        return self.every(names, lambda _, status, why: status == "HOLD" and why in reasons)

    def stays(self, seconds: float, since: float, look: Callable[[], bool] = lambda: True) -> None:
        """Demand for a time, about once a second, that sizes are as they were and a look is true.

        Raises:
            AssertionError: not so, with all answers in the message.
        """
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.unchanged(since)
            assert look(), f"no longer as it was: {self.answers()}"
            pause(1.0)
        self.unchanged(since)

    def shown(self, names: Sequence[str], reasons: Sequence[str], since: float) -> None:
        """Demand that HOLD is seen where people look: in the metric, and as an Event since then."""
        began = time.time() - (time.monotonic() - since) - 1  # an Event's time is in whole seconds
        for name in names:
            for replica in range(len(self.scaler.replicas)):
                labels = {"namespace": self.namespace, "scaled_object": name}
                held = self.scaler.sample("hold", replica, **labels)
                assert held == 1.0, f"{name}: metric hold of replica {replica} is {held}"

        def told() -> bool:
            return all(
                any(_when(each) >= began for each in self.events(name, "Hold", reasons))
                for name in names
            )

        self._wait(told, f"an Event Hold by {reasons} on each of {names}", TOLD)

    def ended(self, names: Sequence[str]) -> None:
        """Wait until the end of HOLD is told as an Event on each ScaledObject."""

        def told() -> bool:
            return all(self._over(name) for name in names)

        self._wait(told, f"an Event HoldEnded on each of {names}", TOLD)

    def _over(self, name: str) -> bool:
        """Say whether the newest Event of the two is HoldEnded."""
        times = {
            reason: max((each["lastTimestamp"] for each in self.events(name, reason)), default="")
            for reason in ("Hold", "HoldEnded")
        }
        return times["HoldEnded"] > times["Hold"]

    def events(self, name: str, reason: str, words: Sequence[str] = ("",)) -> list[Object]:
        """Give the Events on a ScaledObject with a reason and one of the words."""
        return [
            each
            for each in self.world.api.list("Event", self.namespace)
            if each["involvedObject"]["name"] == name
            and each["involvedObject"]["kind"] == "ScaledObject"
            and each["reason"] == reason
            and any(f"{word}: " in each["message"] or not word for word in words)
        ]

    def rest(self) -> None:
        """Let KEDA pause and end the replicas; sizes stay, and settle() ends it.

        Prometheus goes on: after a gap every counter would be new to queries with short windows.
        """
        self._paused("true")
        self._wait(lambda: not self._hpas(), "KEDA lets go of all", SETTLED)
        for replica in self.scaler.replicas:
            replica.terminate()

    def _rise(self) -> None:
        for replica in self.scaler.replicas:
            replica.restart()
        self._paused(None)

    def _hpas(self) -> list[Object]:
        return self.world.api.list("HorizontalPodAutoscaler", self.namespace)

    def _paused(self, value: str | None) -> None:
        change = {"metadata": {"annotations": {"autoscaling.keda.sh/paused": value}}}
        for name in RIGHT:
            self.world.api.patch("ScaledObject", name, self.namespace, change=change)

    def settle(self) -> None:
        """See to it that all is well, also after a fault that changed sizes; wait for it."""
        if not any(each.program.runs for each in self.scaler.replicas):
            self._rise()
        for name, kind in {**dict.fromkeys(SIZES, "Deployment"), POOL: "MachineSet"}.items():
            if self.size(name) not in (self.sizes[name], None):
                self.world.api.scale(kind, name, self.namespace, replicas=self.sizes[name])
        self.right(time.monotonic())
        self.unchanged(time.monotonic())

    def proven(self) -> str:
        """Demand that quiet GPUs still take workers to zero, and a wake brings all back.

        Gives how long both took.
        """
        since = time.monotonic()
        self.gpus.quiet(self.namespace, "busy")
        zero = self.deployments.until("busy", 0, within=SETTLED) - since
        self.gpus.busy(self.namespace, "busy")
        assert self.deployments.steps("busy", since) == [0], "not in one step"
        woken = time.monotonic()
        self._wake("busy", "now")
        back = self.deployments.until("busy", self.sizes["busy"], within=SETTLED) - woken
        self._wake("busy", None)
        self.right(woken)
        return f"quiet GPUs: zero {zero:.0f} s on, back {back:.1f} s after a wake"

    def _wake(self, name: str, when: str | None) -> None:
        change = {"metadata": {"annotations": {"kueue-gpu-scaler.dev/wake": when}}}
        self.world.api.patch("ScaledObject", name, self.namespace, change=change)

    def _sizes(self, name: str) -> Sizes:
        return self.machine_sets if name == POOL else self.deployments

    def _wait(self, look: Callable[[], bool], what: str, within: float) -> None:
        try:
            until(look, what, within=within)
        except NeverCameError as error:
            error.add_note(f"answers: {self.answers()}")
            raise


def _when(event: Object) -> float:
    return datetime.fromisoformat(event["lastTimestamp"]).timestamp()
