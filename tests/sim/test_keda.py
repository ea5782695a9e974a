"""The rules that were measured on KEDA 2.21 and Kubernetes 1.37, row by row."""

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from scaler.core.model import Kind
from scaler.sim.clock import ManualClock
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.deployments import deployment
from scaler.sim.keda import Keda
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.pods import pod_template
from scaler.sim.scale_loop import ScaleLoop, Version
from scaler.sim.scaledobject import read
from scaler.sim.trigger_calls import TriggerCalls
from scaler.sim.trigger_streams import streams_of
from tests.sim.stub_scaler import StubScaler

TARGET = ("ml", "llm")
ZERO_TOLERANCE = {"scaleUp": {"tolerance": "0"}, "scaleDown": {"tolerance": "0"}}


@pytest.fixture
def stub() -> Iterator[StubScaler]:
    """Serve answers that the test sets."""
    server = StubScaler()
    server.start()
    yield server
    server.stop()


@dataclass(kw_only=True)
class Bench:
    """One ScaledObject over one Deployment, driven by hand."""

    objects: Objects
    clock: ManualClock
    loop: ScaleLoop
    channel: grpc.Channel

    @property
    def replicas(self) -> int:
        """Read the target's wanted size."""
        return int(self._of(Kind.DEPLOYMENTS, "llm")["spec"]["replicas"])

    @property
    def hpa(self) -> Document:
        """Read the HPA."""
        return self._of(Kind.HPAS, "keda-hpa-llm")

    @property
    def scaled_object(self) -> Document:
        """Read the ScaledObject."""
        return self._of(Kind.SCALED_OBJECTS, "llm")

    def resize(self, replicas: int, *, present: int | None = None) -> None:
        """Scale by hand, pods and all."""

        def write(document: Document) -> None:
            document["spec"]["replicas"] = replicas
            document["status"] = {"replicas": replicas if present is None else present}

        self.objects.modify(Kind.DEPLOYMENTS, TARGET, write)

    def sync(self, *, present: int | None = None) -> int:
        """Let the HPA read once, after the Deployment has followed the last step."""
        self.resize(self.replicas, present=present)
        self.clock.advance(15)
        self.loop.sync_hpa()
        return self.replicas

    def _of(self, plural: str, name: str) -> Document:
        document = self.objects.get(plural, ("ml", name))
        assert document is not None
        return document


Build = Callable[..., Bench]


def scaled_object(address: str, *, type_: str = "external", **spec: Any) -> Document:  # noqa: ANN401 - any field
    """Write a ScaledObject over the Deployment."""
    trigger = {"type": type_, "metadata": {"scalerAddress": address, "signal": "idle"}}
    fields = {"scaleTargetRef": {"name": "llm"}, "triggers": [trigger], "cooldownPeriod": 60}
    return {"metadata": {"name": "llm", "namespace": "ml"}, "spec": fields | spec}


def cluster(*, replicas: int) -> tuple[Objects, ManualClock]:
    """Hold one Deployment, all of it running."""
    clock = ManualClock()
    objects = Objects(clock=clock)
    template = pod_template(requests={"nvidia.com/gpu": "1"})
    document = deployment(namespace="ml", name="llm", template=template, replicas=replicas)
    objects.create(Kind.DEPLOYMENTS, document | {"status": {"replicas": replicas}})
    return objects, clock


@pytest.fixture
def build(stub: StubScaler) -> Iterator[Build]:
    """Build a bench that asks the stub."""
    benches: list[Bench] = []

    def make(*, replicas: int = 0, version: Version | None = None, **spec: Any) -> Bench:  # noqa: ANN401 - any field of the spec
        objects, clock = cluster(replicas=replicas)
        objects.create(Kind.SCALED_OBJECTS, scaled_object(stub.address, **spec))
        parsed = read(objects.all(Kind.SCALED_OBJECTS)[0])
        channel = grpc.insecure_channel(stub.address)
        calls = [
            TriggerCalls(spec=parsed, index=index, channel=channel)
            for index in range(len(parsed.triggers))
        ]
        loop = ScaleLoop(
            objects=objects,
            clock=clock,
            spec=parsed,
            calls=calls,
            version=version or Version(),
        )
        benches.append(Bench(objects=objects, clock=clock, loop=loop, channel=channel))
        return benches[-1]

    yield make
    for bench in benches:
        bench.channel.close()


# --- creation ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "want"),
    [((2, 0.0), "2000m"), ((1, 2.0), "2000m"), ((0, 0.5), "500m")],
)
def test_target(stub: StubScaler, build: Build, target: tuple[int, float], want: str) -> None:
    """The target is the float if above zero, else the int."""
    stub.targets = [target]
    bench = build()
    assert bench.loop.create()
    metric = bench.hpa["spec"]["metrics"][0]["external"]
    assert metric["target"]["averageValue"] == want
    assert metric["metric"]["name"] == "s0-gpu"
    assert bench.scaled_object["status"]["hpaName"] == "keda-hpa-llm"


@pytest.mark.parametrize("targets", [[(0, 0.0)], [(0, 0.0004)], []])
def test_no_target(stub: StubScaler, build: Build, targets: list[tuple[int, float]]) -> None:
    """A target of zero, or none, makes no HPA and a ScaledObject that isn't Ready (K05, K08)."""
    stub.targets = targets
    bench = build()
    assert not bench.loop.create()
    assert bench.objects.all(Kind.HPAS) == []
    assert condition_of(bench.scaled_object, "Ready")["reason"] == "ScaledObjectCheckFailed"


def test_missing_target(build: Build) -> None:
    """A ScaledObject whose target isn't there has no HPA."""
    bench = build(scaleTargetRef={"name": "elsewhere"})
    assert not bench.loop.create()


def test_dropped_tolerance(build: Build) -> None:
    """An older cluster's HPA drops `tolerance`, a newer one keeps it."""
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": ZERO_TOLERANCE}}
    for kept in (True, False):
        bench = build(version=Version(tolerance=kept), advanced=advanced)
        bench.loop.create()
        assert ("tolerance" in bench.hpa["spec"]["behavior"]["scaleUp"]) is kept


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([(7, 0.0)], 7),
        ([(4, -1.0)], 4),
        ([(9, 2.0)], 2),
        ([(6, math.nan)], 6),
        ([(0, math.inf)], 1),
        ([(-5, -5.0)], 1),
        ([(0, 2.5)], 3),
        ([(0, 5.0004)], 5),
        ([(0, 5.0006)], 6),
        ([(5, 5.0), (5, 5.0)], 10),
        ([], 2),
    ],
)
def test_values(stub: StubScaler, build: Build, values: list[tuple[int, float]], want: int) -> None:
    """Floats win above zero, sums are rounded up; no value changes nothing (K06, K07)."""
    behavior: Document = {
        key: rules | {"stabilizationWindowSeconds": 0} for key, rules in ZERO_TOLERANCE.items()
    }
    bench = build(replicas=2, advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}})
    bench.loop.create()
    stub.values = values
    for _ in range(3):
        bench.sync()
    assert bench.replicas == want


def test_tolerance(stub: StubScaler, build: Build) -> None:
    """At 20 replicas 21, 22, 19 and 18 are ignored, 23 and 17 are not (K10)."""
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    bench = build(advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}})
    bench.loop.create()
    for value, want in [(21, 20), (22, 20), (19, 20), (18, 20), (23, 23), (17, 17)]:
        bench.resize(20)
        stub.values = [(value, float(value))]
        assert bench.sync() == want


def test_zero_tolerance(stub: StubScaler, build: Build) -> None:
    """With tolerance 0 the HPA takes single steps at 20."""
    bench = build(
        replicas=20, advanced={"horizontalPodAutoscalerConfig": {"behavior": ZERO_TOLERANCE}}
    )
    bench.loop.create()
    stub.values = [(21, 21.0)]
    assert bench.sync() == 21


def test_lagging_status(stub: StubScaler, build: Build) -> None:
    """With status.replicas 0 every value lies outside the tolerance."""
    bench = build(replicas=20)
    bench.loop.create()
    stub.values = [(21, 21.0)]
    assert bench.sync(present=0) == 21


def test_stabilization(stub: StubScaler, build: Build) -> None:
    """The HPA shrinks only when the larger size was last asked for 300 s ago."""
    bench = build(replicas=8)
    bench.loop.create()
    stub.values = [(8, 8.0)]
    bench.sync()
    stub.values = [(4, 4.0)]
    assert [bench.sync() for _ in range(19)] == [8] * 19
    assert bench.sync() == 4


def test_rate(stub: StubScaler, build: Build) -> None:
    """Growth doubles at most, from four on."""
    bench = build(replicas=1)
    bench.loop.create()
    stub.values = [(50, 50.0)]
    assert [bench.sync() for _ in range(5)] == [4, 8, 16, 32, 50]


def test_bounds(stub: StubScaler, build: Build) -> None:
    """Outside of minimum and maximum the bound is written at once, whatever the metric says."""
    bench = build(replicas=9, maxReplicaCount=5, minReplicaCount=2)
    bench.loop.create()
    stub.failing.add("GetMetrics")
    assert bench.sync() == 5
    bench.resize(1)
    assert bench.sync() == 2


@pytest.mark.parametrize("how", ["policy", "annotation"])
def test_no_shrinking(stub: StubScaler, build: Build, how: str) -> None:
    """With selectPolicy Disabled, or paused-scale-in, the HPA never shrinks, but grows."""
    disabled = {"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}}
    config = {"horizontalPodAutoscalerConfig": {"behavior": disabled}}
    bench = build(replicas=8, advanced=config if how == "policy" else {})
    if how == "annotation":
        paused = {"autoscaling.keda.sh/paused-scale-in": "true"}
        bench.objects.modify(
            Kind.SCALED_OBJECTS, TARGET, lambda d: d["metadata"].update(annotations=paused)
        )
        bench = _again(bench)
    bench.loop.create()
    stub.values = [(2, 2.0)]
    assert [bench.sync() for _ in range(25)][-1] == 8
    stub.values = [(12, 12.0)]
    assert bench.sync() == 12


def _again(bench: Bench) -> Bench:
    spec = read(bench.scaled_object)
    calls = [TriggerCalls(spec=spec, index=0, channel=bench.channel)]
    bench.loop = ScaleLoop(
        objects=bench.objects, clock=bench.clock, spec=spec, calls=calls, version=Version()
    )
    return bench


# --- steps from and to zero ----------------------------------------------------------------------


def test_activation(stub: StubScaler, build: Build) -> None:
    """An active poll at zero starts max(1, minimum), and the HPA does the rest."""
    bench = build()
    bench.loop.create()
    bench.sync()
    assert "currentReplicas" not in bench.hpa["status"]
    assert condition_of(bench.hpa, "ScalingActive")["reason"] == "ScalingDisabled"
    stub.active, stub.values = True, [(4, 4.0)]
    bench.loop.poll()
    assert bench.replicas == 1
    assert bench.sync() == 4
    assert is_true(bench.hpa, "ScalingActive")
    status = bench.hpa["status"]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (1, 4)
    assert status["lastScaleTime"]


def test_inactive_with_value(stub: StubScaler, build: Build) -> None:
    """(false, N) at zero stays at zero."""
    bench = build()
    bench.loop.create()
    stub.values = [(4, 4.0)]
    bench.loop.poll()
    assert bench.sync() == 0


def test_active_without_need(stub: StubScaler, build: Build) -> None:
    """(true, 0) keeps one."""
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    bench = build(replicas=4, advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}})
    bench.loop.create()
    stub.active = True
    bench.loop.poll()
    assert [bench.sync() for _ in range(3)] == [1, 1, 1]


def test_cooldown(stub: StubScaler, build: Build) -> None:
    """(false, S) leaves everything for the cooldown since the last active poll, then takes all."""
    bench = build(replicas=4)
    bench.loop.create()
    stub.active, stub.values = True, [(4, 4.0)]
    bench.loop.poll()
    stub.active = False
    bench.clock.advance(60)
    bench.loop.poll()
    assert bench.sync() == 4
    bench.loop.poll()
    assert bench.replicas == 0


def test_never_active(build: Build) -> None:
    """Without a lastActiveTime only initialCooldownPeriod protects (K01 of the field: none)."""
    bench = build(replicas=3)
    bench.loop.create()
    bench.clock.advance(1)
    bench.loop.poll()
    assert bench.replicas == 0
    guarded = build(replicas=3, initialCooldownPeriod=100)
    guarded.loop.create()
    guarded.clock.advance(99)
    guarded.loop.poll()
    assert guarded.replicas == 3
    guarded.clock.advance(2)
    guarded.loop.poll()
    assert guarded.replicas == 0


def test_idle_replicas(stub: StubScaler, build: Build) -> None:
    """With idleReplicaCount 0 the target jumps between zero and the minimum."""
    bench = build(minReplicaCount=3, idleReplicaCount=0)
    bench.loop.create()
    stub.active = True
    bench.loop.poll()
    assert bench.replicas == 3
    stub.active = False
    bench.clock.advance(61)
    bench.loop.poll()
    assert bench.replicas == 0


def test_minimum(stub: StubScaler, build: Build) -> None:
    """With a minimum and no idleReplicaCount polls start what is missing, and ask nothing."""
    bench = build(minReplicaCount=2)
    bench.loop.create()
    bench.loop.poll()
    assert bench.replicas == 2
    bench.sync()
    asked = stub.calls.copy()
    bench.clock.advance(600)
    bench.loop.poll()
    assert stub.calls - asked == {"GetMetricSpec": 1}
    assert bench.replicas == 2


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["GetMetrics", "IsActive", "GetMetricSpec"])
def test_errors_hold(stub: StubScaler, build: Build, failing: str) -> None:
    """An error of any call keeps the size and wakes nothing; each is tried twice (K02)."""
    bench = build(replicas=3)
    bench.loop.create()
    stub.failing.add(failing)
    before = stub.calls[failing]
    bench.clock.advance(600)
    bench.loop.poll()
    assert stub.calls[failing] - before == 2
    assert bench.sync() == 3
    assert condition_of(bench.scaled_object, "Ready")["reason"] == "TriggerError"
    assert condition_of(bench.hpa, "ScalingActive")["reason"] == "FailedGetExternalMetric"
    assert bench.hpa["status"]["currentReplicas"] == 3


def test_healed(stub: StubScaler, build: Build) -> None:
    """Errors don't refresh lastActiveTime: the first healthy `false` after an outage takes all."""
    bench = build(replicas=3)
    bench.loop.create()
    stub.active = True
    bench.loop.poll()
    stub.active = False
    stub.failing.add("GetMetrics")
    bench.clock.advance(61)
    bench.loop.poll()
    assert bench.replicas == 3
    stub.failing.clear()
    bench.loop.poll()
    assert bench.replicas == 0


@pytest.mark.parametrize(("race", "want"), [(True, 0), (False, 3)])
def test_race(stub: StubScaler, build: Build, *, race: bool, want: int) -> None:
    """An HPA read that fails under a failing poll makes it inactive without an error."""
    bench = build(replicas=3, version=Version(race=race))
    bench.loop.create()
    bench.clock.advance(61)
    stub.failing.add("GetMetrics")
    inside, go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        if not inside.is_set():
            inside.set()
            go_on.wait(10)

    stub.on_metrics = hold_up
    poll = threading.Thread(target=bench.loop.poll)
    poll.start()
    assert inside.wait(10)
    bench.loop.sync_hpa()
    go_on.set()
    poll.join(10)
    assert bench.replicas == want


def test_hold(stub: StubScaler, build: Build) -> None:
    """Active without a value keeps the size and starts the cooldown anew, race or not (K01)."""
    bench = build(replicas=3)
    bench.loop.create()
    stub.active, stub.values = True, []
    for _ in range(5):
        bench.clock.advance(61)
        bench.loop.poll()
        assert bench.sync() == 3
    assert condition_of(bench.scaled_object, "Ready")["status"] == "True"
    assert condition_of(bench.hpa, "ScalingActive")["reason"] == "FailedGetExternalMetric"


def test_two_triggers(stub: StubScaler, build: Build) -> None:
    """With one of two triggers in error the HPA grows by the other and refuses to shrink."""
    other = StubScaler()
    other.start()
    triggers = [
        {"type": "external", "metadata": {"scalerAddress": stub.address}},
        {"type": "external", "metadata": {"scalerAddress": other.address}},
    ]
    bench = build(replicas=4, triggers=triggers)
    channel = grpc.insecure_channel(other.address)
    second = TriggerCalls(spec=bench.loop.spec, index=1, channel=channel)
    bench.loop.calls = (bench.loop.calls[0], second)
    bench.loop.create()
    other.failing.add("GetMetrics")
    stub.active, stub.values = True, [(6, 6.0)]
    bench.loop.poll()
    assert condition_of(bench.scaled_object, "Ready")["reason"] == "PartialTriggerError"
    assert bench.sync() == 6
    stub.values = [(2, 2.0)]
    assert [bench.sync() for _ in range(25)][-1] == 6
    channel.close()
    other.stop()


# --- pushes and streams --------------------------------------------------------------------------


def test_push(stub: StubScaler, build: Build) -> None:
    """A pushed `true` starts one at once and resets the cooldown, asking nothing."""
    bench = build()
    bench.loop.create()
    asked = stub.calls.copy()
    bench.loop.pushed()
    assert bench.replicas == 1
    bench.clock.advance(59)
    bench.loop.pushed()
    assert stub.calls == asked
    bench.clock.advance(59)
    bench.loop.poll()
    assert bench.replicas == 1
    bench.clock.advance(2)
    bench.loop.poll()
    assert bench.replicas == 0


def test_pushed_false(stub: StubScaler, build: Build) -> None:
    """A pushed `false` does nothing (K03)."""
    bench = build(type_="external-push")
    seen: list[bool] = []
    activity, _ = streams_of(
        bench.loop.calls[0], clock=bench.clock, on_active=lambda: seen.append(True)
    )
    activity.start()
    stub.tell(lambda: stub.pushes.extend([False, True]))
    assert stub.wait(lambda: not stub.pushes)
    stub.tell(lambda: setattr(stub, "end_with", grpc.StatusCode.OK))
    assert stub.wait(lambda: stub.end_with is None)
    _until(lambda: len(activity.delays) == 1)
    assert seen == [True]
    activity.end()
    bench.clock.stop()


def test_stream_delays(stub: StubScaler, build: Build) -> None:
    """Delays double up to 60 s with every end but OK, which resets them."""
    bench = build(type_="external-push")
    activity, _ = streams_of(bench.loop.calls[0], clock=bench.clock, on_active=lambda: None)
    activity.start()
    ends = [grpc.StatusCode.OK, *[grpc.StatusCode.UNAVAILABLE] * 6, grpc.StatusCode.OK]
    for number, end in enumerate(ends, start=1):
        assert stub.wait(lambda n=number: stub.streams == n)  # type: ignore[misc] # bound early
        stub.tell(lambda e=end: setattr(stub, "end_with", e))  # type: ignore[misc] # bound early
        _until(lambda n=number: len(activity.delays) == n)  # type: ignore[misc] # bound early
        bench.clock.advance(60)
    assert activity.delays == [2, 4, 8, 16, 32, 60, 60, 2]
    activity.end()
    bench.clock.stop()


def test_streamed_spec(stub: StubScaler, build: Build) -> None:
    """A streamed spec replaces GetMetricSpec until the next error; an empty one is ignored."""
    bench = build(type_="external-push")
    calls = bench.loop.calls[0]
    calls.take_streamed([])
    bench.loop.create()
    stub.streamed = [(1, 1.0)]
    _, specs = streams_of(calls, clock=bench.clock, on_active=lambda: None)
    specs.start()
    _until(lambda: bool(calls._streamed))
    asked = stub.calls["GetMetricSpec"]
    bench.loop.poll()
    assert stub.calls["GetMetricSpec"] == asked
    stub.failing.add("GetMetrics")
    bench.loop.poll()
    bench.loop.poll()
    assert stub.calls["GetMetricSpec"] == asked + 1
    specs.end()
    bench.clock.stop()


# --- the whole, in threads -----------------------------------------------------------------------


def test_operator(stub: StubScaler) -> None:
    """Polls, pushes, a pause and the end of a ScaledObject work in their threads."""
    objects, clock = cluster(replicas=0)
    keda = Keda(objects=objects, clock=clock)
    objects.create(Kind.SCALED_OBJECTS, scaled_object(stub.address, type_="external-push"))
    keda.step()
    assert stub.wait(lambda: stub.streams == 1 and stub.calls["IsActive"] >= 1)
    stub.tell(lambda: stub.pushes.append(True))
    _until(lambda: _size(objects) == 1)
    paused = {"autoscaling.keda.sh/paused-replicas": "5"}
    objects.modify(Kind.SCALED_OBJECTS, TARGET, lambda d: d["metadata"].update(annotations=paused))
    keda.step()
    _until(lambda: _size(objects) == 5)
    assert objects.all(Kind.HPAS) == []
    objects.modify(Kind.SCALED_OBJECTS, TARGET, lambda d: d["metadata"].update(annotations={}))
    keda.step()
    _until(lambda: len(objects.all(Kind.HPAS)) == 1)
    objects.delete(Kind.SCALED_OBJECTS, TARGET)
    keda.step()
    assert objects.all(Kind.HPAS) == []
    clock.stop()
    keda.stop()


def test_error_cuts_the_stream(stub: StubScaler) -> None:
    """A failed poll drops the push stream of a ScaledObject that is alone on its address."""
    objects, clock = cluster(replicas=0)
    keda = Keda(objects=objects, clock=clock)
    objects.create(Kind.SCALED_OBJECTS, scaled_object(stub.address, type_="external-push"))
    keda.step()
    assert stub.wait(lambda: stub.streams == 1)
    stub.tell(lambda: stub.failing.add("GetMetrics"))
    clock.advance(30)
    assert stub.wait(lambda: stub.calls["GetMetrics"] >= 2)
    _until(lambda: _advanced(clock, 2) and stub.streams >= 2)
    clock.stop()
    keda.stop()


def _advanced(clock: ManualClock, seconds: float) -> bool:
    clock.advance(seconds)
    return True


def _size(objects: Objects) -> int:
    document = objects.get(Kind.DEPLOYMENTS, TARGET)
    assert document is not None
    return int(document["spec"]["replicas"])


def _until(reached: Callable[[], bool]) -> None:
    gate = threading.Event()
    for _ in range(1000):
        if reached():
            return
        gate.wait(0.01)
    raise AssertionError("not reached within ten seconds")
