"""Turn the answered vectors of one key into a Usage: pure, order of rows of no account."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model import Instant, Name
from scaler.core.profile import MetricProfile
from scaler.core.usage import Device, DeviceReading, Reading, Usage, UsageKey
from scaler.prometheus.queries import SIGNAL, TALLY, FleetQuery, Tally
from scaler.prometheus.vector import Sample, Vector


@dataclass(frozen=True, slots=True)
class _Series:
    """What a Reading is of: label sets that differ in anything else are one."""

    device: Device
    pod: Name | None
    signal: str


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many samples of one signal a device has in the window."""

    usable: int
    garbage: int


_Tallied: TypeAlias = Mapping[Device, Mapping[str, _Counts]]


def usage(
    *,
    key: UsageKey,
    profile: MetricProfile,
    at: Instant,
    vectors: Mapping[FleetQuery, Vector],
) -> Usage:
    """Join the vectors; a row without its device labels can't be told from another and is left."""
    tallied = _tallied(profile=profile, vector=vectors.get(FleetQuery.SAMPLES, ()))
    by_pod: defaultdict[Name, list[Reading]] = defaultdict(list)
    by_device: defaultdict[Device, list[Reading]] = defaultdict(list)
    for reading in _readings(profile=profile, vectors=vectors, tallied=tallied):
        by_device[reading.device].append(reading)
        if reading.pod is not None:
            by_pod[reading.pod].append(reading)
    return Usage(
        key=key,
        at=at,
        by_pod={pod: tuple(found) for pod, found in by_pod.items()},
        by_device={device: tuple(found) for device, found in by_device.items()},
        devices=_devices(profile=profile, vectors=vectors, seen=by_device, tallied=tallied),
    )


def device_of(*, labels: Mapping[str, str], profile: MetricProfile) -> Device | None:
    """Name the device of a row; None where one of its labels is missing or empty."""
    names = [labels.get(label, "") for label in profile.device_labels]
    if not names or not all(names):
        return None
    instance = labels.get(profile.instance_label, "") if profile.instance_label else ""
    return Device(uuid="/".join(names), instance=instance)


def pod_of(*, labels: Mapping[str, str], profile: MetricProfile) -> Name | None:
    """Name the pod of a row by the first convention that is there; None where none is."""
    for namespace_label, pod_label in profile.pod_labels:
        if pod := labels.get(pod_label, ""):
            return labels.get(namespace_label, ""), pod
    return None


def _readings(
    *, profile: MetricProfile, vectors: Mapping[FleetQuery, Vector], tallied: _Tallied
) -> Iterator[Reading]:
    peak, latest, busy, count = (
        _largest(profile=profile, vector=vectors.get(name, ()))
        for name in (FleetQuery.PEAK, FleetQuery.LATEST, FleetQuery.LAST_BUSY, FleetQuery.SERIES)
    )
    for series in dict.fromkeys((*peak, *latest, *busy)):
        counts = tallied.get(series.device, {}).get(series.signal)
        yield Reading(
            device=series.device,
            pod=series.pod,
            signal=series.signal,
            peak=_percent(peak.get(series), signal=series.signal, profile=profile),
            latest=latest.get(series),
            last_busy=busy.get(series),
            samples=_own(count.get(series), counts=counts),
        )


def _own(count: float | None, *, counts: _Counts | None) -> int | None:
    """Count a series' usable samples at least: all garbage of its device may be its own."""
    if counts is None:
        return None
    return max(0, min(int(count or 0), counts.usable + counts.garbage) - counts.garbage)


def _largest(*, profile: MetricProfile, vector: Vector) -> Mapping[_Series, float]:
    """Merge the rows of a series: replicas and label changes give it several."""
    largest: dict[_Series, float] = {}
    for sample in vector:
        series = _series(sample, profile=profile)
        if series is not None and sample.finite:
            largest[series] = max(sample.value, largest.get(series, -math.inf))
    return largest


def _series(sample: Sample, *, profile: MetricProfile) -> _Series | None:
    device = device_of(labels=sample.labels, profile=profile)
    signal = sample.labels.get(SIGNAL, "")
    if device is None or not signal:
        return None
    return _Series(device, pod_of(labels=sample.labels, profile=profile), signal)


def _percent(value: float | None, *, signal: str, profile: MetricProfile) -> float | None:
    """Scale to percent; out of range is no sample, whoever let it through."""
    known = profile.signal(signal)
    if value is None or known is None or not 0 <= value <= known.maximum:
        return None
    return round(value * 100 / known.maximum, 9)


def _devices(
    *,
    profile: MetricProfile,
    vectors: Mapping[FleetQuery, Vector],
    seen: Iterable[Device],
    tallied: _Tallied,
) -> Mapping[Device, DeviceReading]:
    models = _models(profile=profile, vectors=vectors.values())
    watts = _by_device(profile=profile, vector=vectors.get(FleetQuery.POWER, ()))
    changes = _by_device(profile=profile, vector=vectors.get(FleetQuery.MOVED, ()))
    return {
        device: DeviceReading(
            device=device,
            model=models.get(device, ""),
            samples={name: one.usable for name, one in tallied.get(device, {}).items()},
            peak_watts=watts[device] * profile.watts_per_unit if device in watts else None,
            moved=changes[device] > 0 if device in changes else None,
        )
        for device in dict.fromkeys((*seen, *tallied, *watts, *changes))
    }


def _models(*, profile: MetricProfile, vectors: Iterable[Vector]) -> Mapping[Device, str]:
    """Find each device's model; where rows disagree the last in the alphabet, in any order."""
    models: dict[Device, str] = {}
    for sample in (sample for vector in vectors for sample in vector):
        device = device_of(labels=sample.labels, profile=profile)
        model = sample.labels.get(profile.model_label, "") if profile.model_label else ""
        if device is not None and model:
            models[device] = max(model, models.get(device, ""))
    return models


def _by_device(*, profile: MetricProfile, vector: Vector) -> Mapping[Device, float]:
    largest: dict[Device, float] = {}
    for sample in vector:
        device = device_of(labels=sample.labels, profile=profile)
        if device is not None and sample.finite:
            largest[device] = max(sample.value, largest.get(device, -math.inf))
    return largest


def _tallied(*, profile: MetricProfile, vector: Vector) -> _Tallied:
    tallies: defaultdict[tuple[Device, str], dict[str, float]] = defaultdict(dict)
    for sample in vector:
        device = device_of(labels=sample.labels, profile=profile)
        if device is not None and sample.finite:
            counts = tallies[device, sample.labels.get(SIGNAL, "")]
            counts[sample.labels.get(TALLY, "")] = sample.value
    tallied: defaultdict[Device, dict[str, _Counts]] = defaultdict(dict)
    for (device, signal), counts in tallies.items():
        tallied[device][signal] = _counts(counts)
    return tallied


def _counts(counts: Mapping[str, float]) -> _Counts:
    """Join the tallies, the smaller answer wherever they differ."""
    filled = math.ceil(counts.get(Tally.FRESH, 0) / 2)
    garbage = math.ceil(counts.get(Tally.GARBAGE, 0) / 2)
    different = int(counts.get(Tally.DISTINCT, 0))
    return _Counts(usable=max(0, min(different, filled) - garbage), garbage=garbage)
