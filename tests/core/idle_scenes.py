"""Generated states of the world around Deployment `workers`, most of them with a flaw or two."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from scaler.core.decision import Decision
from scaler.core.model import Kind, Pod, SourceState
from scaler.core.snapshot import Snapshot
from scaler.core.usage import Device, DeviceReading, QueryAnswer, QueryKey, Reading
from tests.builders import NOW
from tests.core.idle_fixture import POLICY, cluster, decided, join_readings, so, worker

PEAKS = st.sampled_from([0.0, 0.0, 0.0, 0.99, 1.0, 55.0, None])
AGES = st.sampled_from([0.0, 30.0, 90.0, 91.0, None])
SAMPLES = st.sampled_from([60, 60, 53, 52, 0])
KEY = QueryKey(name="requests", namespace="ml", workload="workers")
ASKING_POLICY = replace(POLICY, queries={"requests": "up"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One generated state of the world around the Deployment."""

    pods: tuple[Pod, ...]
    readings: tuple[Reading, ...]
    devices: Mapping[Device, DeviceReading]
    answer: QueryAnswer | None
    problem: str | None = None
    asked: bool = True
    sources: Mapping[Kind, SourceState] | None = None

    def snapshot(self) -> Snapshot:
        """Join it."""
        usage = join_readings(*self.readings, devices=self.devices, problem=self.problem)
        return cluster(
            pods=self.pods,
            usage=usage if self.asked else None,
            replicas=sum(pod.live and pod.labels.get("app") == "workers" for pod in self.pods),
            answers={} if self.answer is None else {KEY: self.answer},
            sources=self.sources,
            scaled_object=so(keepAlive="requests"),
        )

    def decide(self) -> Decision:
        """Decide it."""
        return decided(self.snapshot(), policy=ASKING_POLICY, keepAlive="requests")


def healthy(pods: int, gpus: int, *, slices: bool) -> Scene:
    """Build a scene that is IDLE: each device quiet, covered and fresh in two signals."""
    names = [f"w-{n}" for n in range(pods)]
    owned = [
        (name, Device(uuid=f"{name}-{gpu}", instance="1" if slices else ""))
        for name in names
        for gpu in range(gpus)
    ]
    readings = tuple(
        Reading(device=device, pod=("ml", name), signal=signal, peak=0.0, latest=NOW)
        for name, device in owned
        for signal in ("gpu_util", "gr_engine_active")
    )
    full = {"gpu_util": 60, "gr_engine_active": 60, "dram_active": 60}
    return Scene(
        pods=tuple(worker(name, gpus=gpus) for name in names),
        readings=readings,
        devices={device: DeviceReading(device=device, samples=full) for _, device in owned},
        answer=QueryAnswer(at=NOW, on=False),
    )


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Draw a healthy scene with up to three flaws."""
    scene = healthy(draw(st.integers(1, 2)), draw(st.integers(1, 2)), slices=draw(st.booleans()))
    for flaw in draw(st.lists(st.sampled_from(FLAWS), max_size=3)):
        scene = flaw(draw, scene)
    return scene


def _one_reading(draw: st.DrawFn, scene: Scene, **change: object) -> Scene:
    index = draw(st.integers(0, max(0, len(scene.readings) - 1)))
    return replace(
        scene,
        readings=tuple(
            replace(one, **change) if at == index else one  # type: ignore[arg-type] # names and types are the caller's
            for at, one in enumerate(scene.readings)
        ),
    )


def _peak(draw: st.DrawFn, scene: Scene) -> Scene:
    return _one_reading(draw, scene, peak=draw(PEAKS))


def _age(draw: st.DrawFn, scene: Scene) -> Scene:
    age = draw(AGES)
    return _one_reading(draw, scene, latest=None if age is None else NOW - age)


def _label(draw: st.DrawFn, scene: Scene) -> Scene:
    return _one_reading(draw, scene, pod=draw(LABELS))


def _series(draw: st.DrawFn, scene: Scene) -> Scene:
    """Add a series: unlabelled, of a pod that is gone, or of a pod elsewhere."""
    device = draw(st.sampled_from(sorted(scene.devices)))
    signal = draw(st.sampled_from(["gpu_util", "gr_engine_active", "dram_active"]))
    made = Reading(device=device, pod=draw(LABELS), signal=signal, peak=draw(PEAKS), latest=NOW)
    return replace(scene, readings=(*scene.readings, made))


def _coverage(draw: st.DrawFn, scene: Scene) -> Scene:
    device = draw(st.sampled_from(sorted(scene.devices)))
    counts = {"gpu_util": draw(SAMPLES), "gr_engine_active": draw(SAMPLES)}
    known = DeviceReading(device=device, samples=counts)
    return replace(scene, devices={**scene.devices, device: known})


def _ready(draw: st.DrawFn, scene: Scene) -> Scene:
    since = draw(st.sampled_from([-1800.0, -1799.0, None]))
    index = draw(st.integers(0, len(scene.pods) - 1))
    at = None if since is None else NOW + since
    pods = (replace(pod, ready_since=at) if n == index else pod for n, pod in enumerate(scene.pods))
    return replace(scene, pods=tuple(pods))


def _neighbor(draw: st.DrawFn, scene: Scene) -> Scene:
    if any(pod.name == "other" for pod in scene.pods):
        return scene
    other = worker("other", app="other", node=draw(st.sampled_from(["node-0", "far"])))
    return replace(scene, pods=(*scene.pods, other))


def _answered(draw: st.DrawFn, scene: Scene) -> Scene:
    return replace(scene, answer=QueryAnswer(at=NOW, on=draw(st.sampled_from([True, None]))))


LABELS = st.sampled_from([None, ("ml", "ghost"), ("ml", "other")])
FLAWS = (_peak, _peak, _age, _label, _series, _coverage, _ready, _neighbor, _answered)
