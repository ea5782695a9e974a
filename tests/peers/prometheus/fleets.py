"""Generate a fleet's samples for each profile, with everything that goes wrong in the field."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scaler.core.policy import CustomProfile, CustomSignal, Profile, PrometheusSettings
from scaler.core.profile import MetricProfile, metric_profile

GARBAGE = (
    "9223372036854775794",
    "140737488355328",
    "14073748835532800",
    "4294967295",
    "-1",
    "NaN",
    "+Inf",
    "-Inf",
)
CUSTOM = CustomProfile(
    signals=(
        CustomSignal(name="active", metric="fleet:accelerator_active:ratio", maximum=1.0),
        CustomSignal(name="permille", metric="accelerator_busy_permille", maximum=1000.0),
    ),
    device_label="serial",
    resources=("example.com/accelerator",),
    pod_labels=(("workload_namespace", "workload"),),
    model_label="model",
    temperature_metric="accelerator_temperature",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """One profile's samples, as OpenMetrics text."""

    name: str
    profile: Profile
    text: str
    custom: CustomProfile | None = None
    selector: str = ""
    scrape_interval: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recipe:
    """How one device reports."""

    labels: Mapping[str, str]
    activity: str = "mixed"
    """`quiet`, `mixed`, `early` (busy at first only) or `garbage`."""
    missing: float = 0.0
    """Share of scrapes that fail."""
    from_scrape: int = 0
    until_scrape: int = 10_000
    unlabelled_from: int = 10_000
    """From this scrape on the pod labels are lost."""
    renamed_from: int = 10_000
    """From this scrape on `Hostname` is `hostname`."""
    garbage: float = 0.0
    """Share of samples that are blank sentinels."""
    lacks: frozenset[str] = frozenset()
    """Signals that this device has not."""
    phase: float = 0.0
    """Seconds after the full interval at which it is scraped."""


def all_fleets(*, seed: int, now: float) -> Iterator[Fleet]:
    """Give a fleet for each profile."""
    for profile in Profile:
        custom = CUSTOM if profile is Profile.CUSTOM else None
        yield _fleet(profile=profile, custom=custom, seed=seed, now=now)


def _fleet(*, profile: Profile, custom: CustomProfile | None, seed: int, now: float) -> Fleet:
    chance = random.Random(f"{seed} {profile}")  # noqa: S311 - must repeat, not surprise
    metrics = metric_profile(PrometheusSettings(profile=profile, custom=custom))
    interval = 15.0 if profile is Profile.GAUDI else 30.0
    lines: dict[str, list[str]] = {}
    for recipe in _recipes(metrics, chance=chance, interval=interval):
        _write(recipe, metrics=metrics, chance=chance, now=now, interval=interval, lines=lines)
    text = "".join(
        f"# TYPE {metric} gauge\n" + "".join(f"{line}\n" for line in found)
        for metric, found in lines.items()
    )
    return Fleet(
        name=profile,
        profile=profile,
        text=f"{text}# EOF\n",
        custom=custom,
        selector='job=~"gpu.*", job!="gpu-old"' if profile is Profile.DCGM_4_9 else "",
        scrape_interval=interval,
    )


def _recipes(
    metrics: MetricProfile, *, chance: random.Random, interval: float
) -> Iterator[_Recipe]:
    device = _Devices(metrics, chance=chance)
    phases = (0.0, 0.001, 0.25, interval / 2, interval - 0.001)
    for phase in phases:
        yield _Recipe(labels=device.new(), phase=phase)
        yield _Recipe(labels=device.new(), activity="early", phase=phase)
    yield _Recipe(labels=device.new(), activity="quiet")
    yield _Recipe(labels=device.new(), activity="garbage")
    yield _Recipe(labels=device.new(), garbage=0.1)
    yield _Recipe(labels=device.new(), activity="quiet", garbage=0.3, missing=0.1, phase=7.0)
    yield _Recipe(labels=device.new(), missing=0.3, phase=1.5)
    yield _Recipe(labels=device.new(), from_scrape=40, phase=3.0)
    yield _Recipe(labels=device.new(), until_scrape=70, phase=9.0)
    yield _Recipe(labels=device.new(), unlabelled_from=60)
    yield _Recipe(labels=device.new(), renamed_from=65)
    yield _Recipe(labels=device.new(), lacks=frozenset({metrics.signals[0].name}))
    yield _Recipe(labels=device.new(pod=False))
    yield from _twins(device)
    yield from _slices(device, metrics)


def _twins(device: "_Devices") -> Iterator[_Recipe]:
    """Report one device by two servers of a pair, and one by two scrapers out of step."""
    labels = device.new()
    yield _Recipe(labels={**labels, "prometheus_replica": "a"})
    yield _Recipe(labels={**labels, "prometheus_replica": "b"}, missing=0.2, phase=2.0)
    labels = device.new()
    yield _Recipe(labels={**labels, "instance": "10.0.0.1:9400"}, missing=0.4)
    yield _Recipe(labels={**labels, "instance": "10.0.0.2:9400"}, missing=0.4, phase=11.0)


def _slices(device: "_Devices", metrics: MetricProfile) -> Iterator[_Recipe]:
    if metrics.instance_label is None:
        return
    labels = device.new()
    for instance in ("1", "2"):
        yield _Recipe(
            labels={**labels, metrics.instance_label: instance, "GPU_I_PROFILE": "3g.40gb"},
            activity="quiet" if instance == "1" else "mixed",
        )


class _Devices:
    def __init__(self, metrics: MetricProfile, *, chance: random.Random) -> None:
        self._metrics = metrics
        self._chance = chance
        self._count = 0

    def new(self, *, pod: bool = True) -> Mapping[str, str]:
        """Give the labels of another device, its pod named in one convention or the other."""
        self._count += 1
        number = self._count
        labels = {label: f"{label}-{number:03d}" for label in self._metrics.device_labels}
        if self._metrics.model_label:
            labels[self._metrics.model_label] = f'NVIDIA "A100" \\ {number % 2}'
        labels |= {"job": "gpu-exporter", "gpu": str(number % 8)}
        if pod:
            conventions = self._metrics.pod_labels
            namespace, name = conventions[number % len(conventions)]
            labels |= {"namespace": "monitoring", "pod": "exporter-x"}
            labels |= {namespace: "ml", name: f"worker-{number // 2}"}
        return labels


def _write(
    recipe: _Recipe,
    *,
    metrics: MetricProfile,
    chance: random.Random,
    now: float,
    interval: float,
    lines: dict[str, list[str]],
) -> None:
    scrapes = int(3600 / interval)
    start = (now // interval - scrapes + 4) * interval + recipe.phase
    energy = chance.random() * 1e6
    for scrape in range(scrapes):
        energy += chance.random() * 1000
        if not recipe.from_scrape <= scrape < recipe.until_scrape:
            continue
        if chance.random() < recipe.missing:
            continue
        labels = _labels(recipe, metrics=metrics, scrape=scrape)
        values = _values(recipe, metrics=metrics, scrape=scrape, chance=chance, energy=energy)
        for metric, value in values:
            line = f"{metric}{{{labels}}} {value} {start + scrape * interval:.3f}"
            lines.setdefault(metric, []).append(line)


def _labels(recipe: _Recipe, *, metrics: MetricProfile, scrape: int) -> str:
    labels = dict(recipe.labels)
    if "hostname" not in metrics.device_labels:
        labels["hostname" if scrape >= recipe.renamed_from else "Hostname"] = "n1"
    if scrape >= recipe.unlabelled_from:
        for pair in metrics.pod_labels:
            for label in pair:
                labels.pop(label, None)
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _values(
    recipe: _Recipe,
    *,
    metrics: MetricProfile,
    scrape: int,
    chance: random.Random,
    energy: float,
) -> Sequence[tuple[str, str]]:
    values = [
        (signal.metric, _activity(recipe, scrape=scrape, chance=chance, maximum=signal.maximum))
        for signal in metrics.signals
        if signal.name not in recipe.lacks
    ]
    if metrics.power_metric:
        watts = chance.choice((*GARBAGE, *(repr(chance.uniform(50, 700)) for _ in range(60))))
        values.append((metrics.power_metric, watts))
    celsius = "31" if recipe.activity == "quiet" else str(30 + scrape % 9)
    values.extend((metric, celsius) for metric in metrics.temperature_metrics)
    if metrics.energy_metric:
        values.append((metrics.energy_metric, repr(energy)))
    return values


def _activity(recipe: _Recipe, *, scrape: int, chance: random.Random, maximum: float) -> str:
    if recipe.activity == "garbage" or chance.random() < recipe.garbage:
        return chance.choice(GARBAGE)
    if recipe.activity == "quiet" or (recipe.activity == "early" and scrape > 60):
        return "0"
    return repr(chance.choice((0.0, 0.0, 0.29 * maximum, maximum, chance.random() * maximum)))
