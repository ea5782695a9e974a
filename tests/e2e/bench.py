"""One namespace in which KEDA scales targets by what the stub answers."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.e2e.api import Object, condition
from tests.e2e.bench_objects import (
    LAB_SCALE,
    external,
    lab_scale_crd,
    scaled_object,
    target,
)
from tests.e2e.calls import Call, Method, Outcome
from tests.e2e.script import Answers
from tests.e2e.sizes import Sizes
from tests.e2e.waiting import until
from tests.e2e.world import World

FIRST_ASKS = 3
"""GetMetricSpec calls of KEDA's own that a new ScaledObject costs at least."""
REST = 3.0
"""Seconds without a further one, after which none is expected before the next poll."""
SOON = 60
"""Seconds for what takes one or two intervals, on a busy machine."""


@dataclass(slots=True, kw_only=True)
class Bench:
    """What a scenario of the contract works with."""

    world: World
    kind: str
    """Of the targets."""
    namespace: str
    sizes: Sizes
    address: str
    """Where triggers point unless they are given another."""
    addresses: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Of all scripts."""

    def listen(self) -> str:
        """Give a further address; KEDA has one connection to each."""
        self.addresses.append(self.world.stub.listen())
        return self.addresses[-1]

    def tell(self, name: str, answers: Answers) -> float:
        """Change a script, and give the monotonic time at which that was begun."""
        began = time.monotonic()
        if name not in self.names:
            self.names.append(name)
        self.world.stub.script(self.namespace, name, answers)
        return began

    def tell_all(self, names: Iterable[str], answers: Answers) -> float:
        """Change several scripts, and give the monotonic time at which that was begun."""
        began = time.monotonic()
        for name in names:
            self.tell(name, answers)
        return began

    def target(
        self,
        name: str,
        *,
        replicas: int | None,
        answers: Answers | None = None,
        address: str = "",
        push: bool = False,
        trigger: Object | None = None,
        metadata: Mapping[str, str] | None = None,
        **spec: object,
    ) -> str:
        """Create a target and the ScaledObject of the same name, scripted before; give the name.

        Args:
            name: of both.
            replicas: what the target has before KEDA sees it; None = the field is absent.
            answers: its script; None = it is set elsewhere.
            address: of the scaler, where it is not the bench's.
            push: as an external-push trigger.
            trigger: further fields of the trigger.
            metadata: further metadata of the trigger.
            spec: further fields of the ScaledObject's spec.
        """
        if answers is not None:
            self.tell(name, answers)
        if self.world.api.get(self.kind, name, self.namespace) is None:
            self.world.api.create(target(self.kind, self.namespace, name, replicas=replicas))
        one = external(address or self.address, push=push, **(metadata or {})) | (trigger or {})
        changes = {"triggers": [one]} | spec
        self.world.api.create(scaled_object(self.kind, self.namespace, name, changes=changes))
        return name

    def settled(self, *names: str) -> None:
        """Wait until the HPA of each name has read a value."""
        for name in names:
            self.hpa_says(name, "ValidMetricFound")

    def ready(self, *names: str, within: float = SOON) -> None:
        """Wait until KEDA calls each ScaledObject Ready."""
        for name in names:
            self.becomes(name, "Ready", "True", within=within)

    def becomes(
        self, name: str, kind: str, status: str, *reasons: str, within: float = SOON
    ) -> None:
        """Wait until a ScaledObject's condition has a status and, if given, one of the reasons."""

        def look() -> bool:
            found = condition(self.scaled(name), kind)
            return found.get("status") == status and (not reasons or found.get("reason") in reasons)

        self._wait(look, f"{name}: {kind}={status} {reasons}", within, lambda: self.scaled(name))

    def hpa_says(self, name: str, reason: str, *, within: float = SOON) -> None:
        """Wait until the HPA gives a reason for ScalingActive."""

        def look() -> bool:
            return condition(self.hpa(name), "ScalingActive").get("reason") == reason

        self._wait(look, f"{name}: HPA {reason}", within, lambda: self.hpa(name))

    def scaled(self, name: str) -> Object:
        """Give a ScaledObject."""
        return self.world.api.get("ScaledObject", name, self.namespace) or {}

    def hpa(self, name: str) -> Object | None:
        """Give the HPA that KEDA made, or None where there is none."""
        return self.world.api.get("HorizontalPodAutoscaler", f"keda-hpa-{name}", self.namespace)

    def calls(
        self, name: str, method: Method | None = None, since: float = 0.0
    ) -> tuple[Call, ...]:
        """Give the calls of a script since a monotonic time."""
        return self.world.stub.calls(self.namespace, name, method, since)

    def read(self, name: str, *, since: float) -> None:
        """Wait until the HPA has read a script's value in a call begun since a monotonic time."""

        def look() -> bool:
            calls = self.calls(name, Method.METRICS, since)
            return any(call.deadline is not None and call.ended is not None for call in calls)

        until(look, f"{name}: an HPA read", within=SOON)

    def reconciled(self, name: str) -> None:
        """Wait until KEDA is done with a new ScaledObject that it seldom polls.

        It asks for the spec to make the HPA, in its first poll, and once more when the ScaledObject
        has become Ready; that comes in its own time.
        """

        def look() -> bool:
            own = [each for each in self.calls(name, Method.METRIC_SPEC) if each.deadline is None]
            return len(own) >= FIRST_ASKS and own[-1].at < time.monotonic() - REST

        until(look, f"{name}: no further GetMetricSpec of KEDA's own", within=SOON)

    def asked(self, name: str, method: Method | None = None, *, since: float) -> Call:
        """Wait for the first call of a script since a monotonic time."""
        what = f"{name}: a call of {method or 'any method'}"
        return until(lambda: self.calls(name, method, since), what, within=SOON)[0]

    def pending(self, name: str, method: Method) -> tuple[Call, ...]:
        """Give the calls of a script that are not answered, or the streams that are open."""
        calls = self.calls(name, method)
        return tuple(call for call in calls if call.outcome is Outcome.PENDING)

    def streams(self, name: str, method: Method = Method.STREAM_IS_ACTIVE) -> Call:
        """Wait until a stream is open, and give it."""
        found = until(lambda: self.pending(name, method), f"{name}: {method}", within=70.0)
        return found[-1]

    def push(self, name: str, active: bool) -> float:  # noqa: FBT001 - as on the wire
        """Say something on a script's streams, and give the monotonic time before."""
        began = time.monotonic()
        self.world.stub.push(self.namespace, name, active)
        return began

    def annotate(self, name: str, **annotations: str | None) -> None:
        """Set or remove annotations of KEDA's own; an underscore is written for a hyphen."""
        texts = {
            f"autoscaling.keda.sh/{key.replace('_', '-')}": text
            for key, text in annotations.items()
        }
        change = {"metadata": {"annotations": texts}}
        self.world.api.patch("ScaledObject", name, self.namespace, change=change)

    def report(self, name: str, **status: object) -> None:
        """Set the status of a target that no controller looks after."""
        self.world.api.patch(
            self.kind, name, self.namespace, change={"status": status}, sub="status"
        )

    def remove(self, name: str) -> None:
        """Delete a ScaledObject, then its target."""
        self.world.api.delete("ScaledObject", name, self.namespace)
        self.world.api.delete(self.kind, name, self.namespace)

    def clear(self) -> None:
        """Let go who hangs, delete all, and close the addresses when KEDA has left."""
        for name in self.names:
            self.tell(name, Answers())
        api = self.world.api
        for found in api.list("ScaledObject", self.namespace):
            api.delete("ScaledObject", found["metadata"]["name"], self.namespace)
        for found in api.list(self.kind, self.namespace):
            api.delete(self.kind, found["metadata"]["name"], self.namespace)
        until(
            lambda: not api.list("ScaledObject", self.namespace), "no ScaledObject", within=2 * SOON
        )
        for address in self.addresses:
            self.world.stub.down(address)

    def _wait(
        self, look: Callable[[], bool], what: str, within: float, shown: Callable[[], object]
    ) -> None:
        try:
            until(look, what, within=within)
        except AssertionError as error:
            error.add_note(f"as it is: {(_status(shown()))}")
            raise


def _status(found: object) -> object:
    return found.get("status") if isinstance(found, dict) else found


@contextmanager
def bench(world: World, name: str, kind: str = "Deployment") -> Iterator[Bench]:
    """Set up a namespace, an address and a watch; clear all on leaving."""
    if kind == LAB_SCALE:
        world.api.apply(lab_scale_crd())
    namespace = world.namespace(name)
    with Sizes(api=world.api, kind=kind, namespace=namespace) as sizes:
        made = Bench(world=world, kind=kind, namespace=namespace, sizes=sizes, address="")
        made.address = made.listen()
        try:
            yield made
        finally:
            made.clear()
