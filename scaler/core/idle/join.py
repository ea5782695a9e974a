"""Join readings and pods by device (UUID and GPU instance), so that a lost label hides no work.

The devices of a pod are those that a series names with it within the window: before it a pod of
that name, as StatefulSets have them, may have had another. What counts on a device are the series
that name any live pod, and those that name none; a series that names a pod which is gone does not,
not even through the device, which may be another pod's by now.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scaler.core.model import Instant, Name, Pod
from scaler.core.profile import MetricProfile
from scaler.core.usage import Device, DeviceReading, Reading, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalUse:
    """One signal of a device, over all series that count; void ones are left out."""

    name: str
    vouches: bool
    peak: float | None
    """Percent; None = no usable sample."""
    latest: Instant | None
    samples: int
    last_busy: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """A device of a component, as its signals and sensors show it."""

    device: Device
    whole: bool
    """It is no slice; power and temperature are the whole device's."""
    pods: tuple[str, ...]
    """Pods of the component whose series name it."""
    signals: tuple[SignalUse, ...]
    model: str = ""
    watts: float | None = None
    moved: bool | None = None

    @property
    def loudest(self) -> SignalUse | None:
        """Give the signal of the highest peak; None = no signal has a usable sample."""
        heard = [one for one in self.signals if one.peak is not None]
        return max(heard, key=lambda one: (one.peak or 0.0, one.name), default=None)

    @property
    def peak(self) -> float | None:
        """Give the highest peak, percent."""
        loudest = self.loudest
        return None if loudest is None else loudest.peak

    @property
    def samples(self) -> int:
        """Give the samples of the best covered signal."""
        return max((one.samples for one in self.signals), default=0)

    @property
    def latest(self) -> Instant | None:
        """Give the time of the newest sample of any signal."""
        return max((one.latest for one in self.signals if one.latest is not None), default=None)

    @property
    def last_busy(self) -> Instant | None:
        """Give the newest busy time of any signal."""
        times = (one.last_busy for one in self.signals if one.last_busy is not None)
        return max(times, default=None)


def join(
    *,
    pods: Iterable[Pod],
    usage: Usage,
    profile: MetricProfile,
    live: Callable[[Name], bool],
) -> tuple[DeviceUse, ...]:
    """Give the devices of some pods, by device; `live` says whose series count."""
    named: defaultdict[Device, set[str]] = defaultdict(set)
    own: defaultdict[Device, list[Reading]] = defaultdict(list)
    for pod in pods:
        for reading in usage.by_pod.get(pod.key, ()):
            own[reading.device].append(reading)
            if reading.recent:
                named[reading.device].add(pod.name)
    return tuple(
        _device_use(
            device=device,
            pods=named[device],
            readings=(*own[device], *usage.by_device.get(device, ())),
            seen=usage.devices.get(device) or DeviceReading(device=device),
            profile=profile,
            live=live,
        )
        for device in sorted(named)
    )


def _device_use(
    *,
    device: Device,
    pods: Iterable[str],
    readings: Iterable[Reading],
    seen: DeviceReading,
    profile: MetricProfile,
    live: Callable[[Name], bool],
) -> DeviceUse:
    counted: defaultdict[str, list[Reading]] = defaultdict(list)
    ghosts: set[str] = set()
    for reading in readings:
        if profile.void(signal=reading.signal, device=device):
            continue
        if reading.pod is None or live(reading.pod):
            counted[reading.signal].append(reading)
        else:
            ghosts.add(reading.signal)
    return DeviceUse(
        device=device,
        whole=profile.whole(device),
        pods=tuple(sorted(pods)),
        signals=tuple(
            _signal_use(
                name=name,
                readings=counted[name],
                samples=seen.samples.get(name, 0),
                haunted=name in ghosts,
                profile=profile,
            )
            for name in sorted(counted)
        ),
        model=seen.model,
        watts=seen.peak_watts,
        moved=seen.moved,
    )


def _signal_use(
    *, name: str, readings: list[Reading], samples: int, haunted: bool, profile: MetricProfile
) -> SignalUse:
    """Merge the series of one signal.

    A device's samples are counted over all its series. Where one of them names a pod that is
    gone, those that count must bring enough samples of their own.
    """
    known = profile.signal(name)
    own = [reading.samples for reading in readings if reading.samples is not None]
    return SignalUse(
        name=name,
        vouches=known is not None and known.vouches,
        peak=_newest(reading.peak if _is_number(reading.peak) else None for reading in readings),
        latest=_newest(reading.latest for reading in readings),
        samples=min(samples, max(own)) if haunted and own else samples,
        last_busy=_newest(reading.last_busy for reading in readings),
    )


def _newest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
