"""Laws of idle decisions over generated clusters: what may never happen, whatever the input.

A device's signals fall back one by one (D08), and up to a tenth of a window may be missing; so
"data taken away" is taken from a device, pod or source as a whole, or only from what vouches for
it: counts, times, labels and sensors.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.decide import decide
from scaler.core.decision import Status
from scaler.core.metadata import IDLE_KEYS, KEDA_KEYS, QUEUE_KEYS
from scaler.core.model import Kind, SourceState
from scaler.core.profile import metric_profile
from scaler.core.reasons import Reason
from scaler.core.trigger import TriggerRef
from scaler.core.usage import Device, DeviceReading, QueryAnswer, Reading
from tests.builders import NOW, make_hpa, make_node
from tests.core.idle_fixture import POLICY
from tests.core.idle_scenes import ASKING_POLICY, Scene, scenes


def without_device(scene: Scene, device: Device) -> Scene:
    """Take every series of a device away."""
    return replace(
        scene,
        readings=tuple(one for one in scene.readings if one.device != device),
        devices={key: value for key, value in scene.devices.items() if key != device},
    )


def each_reading(scene: Scene, change: Callable[[Reading], Reading], chosen: Device) -> Scene:
    """Change every reading of a device."""
    return replace(
        scene,
        readings=tuple(change(one) if one.device == chosen else one for one in scene.readings),
    )


def with_counts(scene: Scene, device: Device, count: int) -> Scene:
    """Count no more than so many samples of a device."""
    known = scene.devices.get(device, DeviceReading(device=device))
    fewer = {signal: min(count, old) for signal, old in known.samples.items()}
    return replace(scene, devices={**scene.devices, device: replace(known, samples=fewer)})


def unsynced(scene: Scene, kind: Kind) -> Scene:
    """Take a source away."""
    return replace(scene, sources={kind: SourceState(synced=False, problem="403")})


def stale(scene: Scene, kind: Kind) -> Scene:
    """Let a source go silent."""
    return replace(scene, sources={kind: SourceState(synced=True, last_alive=NOW - 301)})


@st.composite
def poorer(draw: st.DrawFn) -> tuple[Scene, Scene]:
    """Draw a scene and the same with data taken away."""
    scene = draw(scenes())
    device = draw(st.sampled_from(sorted(scene.devices) or [Device(uuid="none")]))
    needed = draw(st.sampled_from([Kind.PODS, Kind.DEPLOYMENTS, Kind.SCALED_OBJECTS]))
    pod = draw(st.sampled_from(scene.pods)).name
    options = [
        without_device(scene, device),
        each_reading(scene, lambda one: replace(one, peak=None), device),
        each_reading(scene, lambda one: replace(one, latest=None), device),
        each_reading(scene, lambda one: replace(one, latest=NOW - 1000), device),
        each_reading(scene, lambda one: replace(one, pod=None), device),
        each_reading(scene, lambda one: replace(one, last_busy=None), device),
        with_counts(scene, device, draw(st.integers(0, 60))),
        replace(scene, devices={}),
        replace(scene, readings=tuple(one for one in scene.readings if one.pod != ("ml", pod))),
        replace(scene, answer=None),
        replace(scene, answer=QueryAnswer(at=NOW, on=None, problem="timeout")),
        replace(scene, problem="503"),
        replace(scene, asked=False),
        unsynced(scene, needed),
        stale(scene, needed),
    ]
    return scene, draw(st.sampled_from(options))


@settings(max_examples=200, deadline=None)
@given(poorer())
def test_law_of_data_taken_away(pair: tuple[Scene, Scene]) -> None:
    """Data that is taken away never turns BUSY or UNKNOWN into IDLE."""
    before, after = pair
    if before.decide().reason is not Reason.IDLE:
        assert after.decide().reason is not Reason.IDLE


def vouched(scene: Scene) -> bool:
    """Say in the plainest words whether every device of every worker is known to be quiet."""
    profile = metric_profile(POLICY.prometheus)
    workers = [pod for pod in scene.pods if pod.labels["app"] == "workers"]
    for pod in workers:
        own = {one.device for one in scene.readings if one.pod == pod.key}
        if len(own) != profile.devices(pod.requests):
            return False
        for device in own:
            good = [
                one
                for one in scene.readings
                if one.device == device
                and one.signal in ("gr_engine_active", *(() if device.instance else ("gpu_util",)))
                and one.peak is not None
                and scene.devices[device].samples.get(one.signal, 0) >= 53
            ]
            if not any(one.latest is not None and NOW - one.latest <= 90 for one in scene.readings):
                return False
            if not good:
                return False
    return True


@settings(max_examples=200, deadline=None)
@given(scenes())
def test_law_of_lacking_data(scene: Scene) -> None:
    """No scene that lacks a device, a covering signal or an answer is IDLE."""
    decision = scene.decide()
    if decision.reason is Reason.IDLE:
        assert vouched(scene)
        assert scene.answer is not None
        assert scene.answer.on is False
        assert (decision.active, decision.status) == (False, Status.OK)
    if decision.status is Status.HOLD:
        assert (decision.active, decision.value) == (None, None)


@settings(max_examples=200, deadline=None)
@given(scenes(), st.data())
def test_law_of_a_reading_turned_busy(scene: Scene, data: st.DataObject) -> None:
    """A reading that is turned busy never gives IDLE, unless nobody may read it."""
    if not scene.readings:
        return
    index = data.draw(st.integers(0, len(scene.readings) - 1))
    chosen = scene.readings[index]
    louder = replace(chosen, peak=data.draw(st.sampled_from([1.0, 50.0, 100.0])))
    after = replace(
        scene, readings=(*scene.readings[:index], louder, *scene.readings[index + 1 :])
    ).decide()
    before = scene.decide()
    ghost = chosen.pod == ("ml", "ghost") or (
        chosen.pod == ("ml", "other") and all(pod.name != "other" for pod in scene.pods)
    )
    void = chosen.signal == "gpu_util" and chosen.device.instance != ""
    if before.reason is not Reason.IDLE or not (ghost or void):
        assert after.reason is not Reason.IDLE


@settings(max_examples=100, deadline=None)
@given(scenes(), st.randoms(use_true_random=False))
def test_law_of_order(scene: Scene, random: Random) -> None:
    """The order of pods and readings bears on nothing, and deciding twice gives the same."""
    readings = random.sample(scene.readings, len(scene.readings))
    pods = random.sample(scene.pods, len(scene.pods))
    shuffled = replace(scene, readings=tuple(readings), pods=tuple(pods))
    assert scene.decide() == shuffled.decide() == scene.decide()


WORDS = st.sampled_from(
    (
        *("idle", "queue", "", "30m", "0", "1", "-1", "true", "workers", "Deployment/workers"),
        *("Job/x", "RayCluster/r", "nodes", "gpus", "pending", "gpu-cq", "a100", "requests"),
    )
)
METADATA = st.dictionaries(
    st.one_of(st.sampled_from(["signal", *QUEUE_KEYS, *IDLE_KEYS, *sorted(KEDA_KEYS)]), st.text()),
    st.one_of(WORDS, st.text()),
)
VALID = st.fixed_dictionaries(
    {"signal": st.just("idle")},
    optional={
        "workload": st.sampled_from(["x", "Deployment/workers", "StatefulSet/s", "Job/x"]),
        "component": st.sampled_from(["main", "other"]),
        "wake": st.sampled_from(["requests", "sum(x)"]),
        "keepAlive": st.sampled_from(["requests", "sum(x)"]),
        "dryRun": st.sampled_from(["true", "false"]),
        "replicas": st.just("3"),
    },
)
STATES = st.one_of(
    st.none(),
    st.builds(
        SourceState,
        synced=st.booleans(),
        last_alive=st.sampled_from([None, NOW, NOW - 1000]),
        installed=st.booleans(),
    ),
)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(METADATA, VALID),
    scenes(),
    st.dictionaries(st.sampled_from(list(Kind)), STATES),
    st.sampled_from(["so", "gone"]),
    st.booleans(),
)
def test_law_of_totality(
    metadata: dict[str, str],
    scene: Scene,
    states: dict[Kind, SourceState | None],
    name: str,
    bundle: bool,  # noqa: FBT001 # Hypothesis passes arguments by position
) -> None:
    """Any metadata on any subset of the sources gives a Decision that contradicts nothing."""
    whole = replace(
        scene.snapshot(),
        nodes={"node-0": make_node()},
        hpas={("ml", "hpa"): make_hpa(name="hpa")},
        bundle=bundle,
    )
    sources = {
        kind: states.get(kind, old)
        for kind, old in whole.sources.items()
        if states.get(kind, old) is not None
    }
    snapshot = replace(whole, sources={k: v for k, v in sources.items() if v is not None})
    ref = TriggerRef.of(namespace="ml", name=name, metadata=metadata)
    decision = decide(snapshot=snapshot, ref=ref, policy=ASKING_POLICY, now=NOW)
    assert decision == decide(snapshot=snapshot, ref=ref, policy=ASKING_POLICY, now=NOW)
    assert (decision.status is Status.OK) == (decision.active is not None)
    assert (decision.status is Status.OK) == (decision.value is not None)
    assert decision.value is None or decision.value >= 0
    assert decision.detail
    assert bool(decision.problems) == (decision.status is Status.INVALID)
