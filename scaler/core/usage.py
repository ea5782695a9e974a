"""What Prometheus says of GPUs, as readings; missing stays missing.

A Reading is one activity signal of one device, in percent whatever the metric's own scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scaler.core.model import Instant, Name


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Device:
    """A GPU, or one MIG slice of it (GPU_I_ID)."""

    uuid: str
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One activity signal of one device under one pod label, over one window."""

    device: Device
    pod: Name | None
    """The pod that the series names; None where it names none."""
    signal: str
    """The profile's name of the signal, for example `gr_engine_active`."""
    peak: float | None
    """Maximum over the window, percent, samples out of range left out; None = no usable sample."""
    latest: Instant | None
    """Time of the newest sample itself (not of the evaluation); None = none within the lookback."""
    last_busy: Instant | None = None
    """Newest time seen at or above the threshold within the longer look back; None = not seen."""
    samples: int | None = None
    """Usable samples of this series in the window; None = not counted apart from the device's."""

    @property
    def recent(self) -> bool:
        """Say whether a usable sample is in the window, and not in the longer look back alone."""
        return self.peak is not None or self.latest is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """What is known of a device whichever pod its series name."""

    device: Device
    model: str = ""
    samples: Mapping[str, int] = field(default_factory=dict)
    """Usable samples in the window by signal, duplicates counted once."""
    peak_watts: float | None = None
    moved: bool | None = None
    """Temperature changed or energy grew within the window; None = neither metric is there."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class UsageKey:
    """Which fleet query: its window and the threshold of `last_busy`."""

    window_seconds: float
    busy_from_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One refresh of one fleet query."""

    key: UsageKey
    at: Instant
    """When Prometheus evaluated it."""
    problem: str | None = None
    """Why it can't be believed (error, time-out, warnings); None = it can."""
    by_pod: Mapping[Name, tuple[Reading, ...]] = field(default_factory=dict)
    """Readings whose series name that pod."""
    by_device: Mapping[Device, tuple[Reading, ...]] = field(default_factory=dict)
    """All readings of a device, those without a pod too."""
    devices: Mapping[Device, DeviceReading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class QueryKey:
    """A keepAlive or wake query of the policy, bound to a namespace and workload."""

    name: str
    namespace: str
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """Whether any value of a keepAlive or wake query is above 0; None = it failed."""

    at: Instant
    on: bool | None
    problem: str | None = None
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleStart:
    """When a workload with samples fell quiet."""

    namespace: str
    workload: str
    at: Instant | None
    """Its newest busy sample; None = it is busy, or was quiet as far back as was looked."""
