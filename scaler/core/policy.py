"""The policy in force, and which of its rules gives each value to a trigger.

Parsing of the ConfigMap's file is `policyfile`'s; a Policy can't be wrong any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from scaler.core.model import Amounts

K = TypeVar("K")
V = TypeVar("V")


def _frozen() -> Mapping[K, V]:
    return MappingProxyType({})


class Profile(StrEnum):
    """Name the metric profiles; a profile is chosen, never guessed from values."""

    DCGM_4_8 = "dcgm-4.8"
    DCGM_4_9 = "dcgm-4.9"
    AMD = "amd"
    GAUDI = "gaudi"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """One level's values; None = this level does not say."""

    idle_after: float | None = None
    """Seconds."""
    busy_from_percent: float | None = None
    grace_after_start: float | None = None
    """Seconds."""
    dry_run: bool | None = None
    keep_alive: str | None = None
    """Name of a query."""
    wake: str | None = None
    """Name of a query."""


DEFAULT_THRESHOLDS = Thresholds(
    idle_after=1800.0, busy_from_percent=1.0, grace_after_start=600.0, dry_run=False
)


PROVISIONING_TIMEOUT = 900.0
"""Seconds for a node to come, where no pool says another time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One scale target's nodes."""

    name: str
    node_selector: tuple[tuple[str, str], ...]
    """Sorted; non-empty, but where `open_ended`."""
    node: Amounts
    """What one node offers to jobs; `pods` included where given."""
    max_nodes: int
    spare_nodes: int = 0
    provisioning_timeout: float = PROVISIONING_TIMEOUT
    """Seconds."""
    not_ready_grace: float = 300.0
    """Seconds."""
    open_ended: bool = False
    """Of gpusPerNode: it names one sort of device; its nodes show it, nothing else is limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomSignal:
    """One activity signal of the custom profile."""

    name: str
    metric: str
    maximum: float
    """The metric's top value, 100 for a percentage, 1 for a ratio; beyond it is garbage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomProfile:
    """prometheus.custom: what a fleet with other metrics names and means."""

    signals: tuple[CustomSignal, ...]
    device_label: str
    resources: tuple[str, ...]
    """Extended resources that the metrics speak of; a trailing * matches any ending."""
    instance_label: str | None = None
    pod_labels: tuple[tuple[str, str], ...] = (
        ("exported_namespace", "exported_pod"),
        ("namespace", "pod"),
    )
    """(namespace label, pod label) pairs, the first that is there wins."""
    model_label: str | None = None
    power_metric: str | None = None
    """Watts."""
    temperature_metric: str | None = None
    energy_metric: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings:
    """The section `prometheus`; durations in seconds."""

    url: str = "http://prometheus:9090"
    profile: Profile = Profile.DCGM_4_8
    timeout: float = 10.0
    refresh: float = 15.0
    scrape_interval: float = 30.0
    token_file: str = ""
    ca_file: str = ""
    headers: Mapping[str, str] = field(default_factory=_frozen)
    selector: str = ""
    """Label matchers for every metric of the profile, as `job="nvidia-dcgm-exporter"`."""
    custom: CustomProfile | None = None

    @property
    def matchers(self) -> str:
        """Give the selector without the braces that some write around it."""
        return self.selector.strip().removeprefix("{").removesuffix("}").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class MassIdle:
    """The brake: hold when this many workloads turn idle at once."""

    workloads: int = 20
    percent: float = 50.0
    hold_for: float = 3600.0
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """The section `safety`; durations in seconds."""

    min_coverage_percent: float = 90.0
    max_sample_age: float = 90.0
    max_watch_age: float = 300.0
    mass_idle: MassIdle = MassIdle()
    power_veto_watts: Mapping[str, float] = field(default_factory=_frozen)
    """modelName -> watts."""
    idle_after_min: float = 300.0
    idle_after_max: float = 86400.0
    trigger_queries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One entry of `schedules`: a weekly span in a time zone."""

    name: str
    days: frozenset[int]
    """0 = Monday."""
    from_minute: int
    to_minute: int
    """Minutes after midnight; to <= from spans midnight."""
    timezone: str
    spare_nodes: Mapping[str, int] = field(default_factory=_frozen)
    keep_active: frozenset[str] = frozenset()
    """Namespaces."""


class WorkerKind(StrEnum):
    """Name the kinds whose workers a WorkerScale can take, in one mode or the other."""

    RAY_CLUSTER = "RayCluster"
    RAY_JOB = "RayJob"
    JOB_SET = "JobSet"
    TRAIN_JOB = "TrainJob"
    JOB = "Job"
    PYTORCH_JOB = "PyTorchJob"
    MPI_JOB = "MPIJob"
    RAY_SERVICE = "RayService"
    APP_WRAPPER = "AppWrapper"
    NOTEBOOK = "Notebook"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerScales:
    """The section `workerScales`."""

    kinds: frozenset[str] = frozenset(WorkerKind)
    """Kinds that a WorkerScale may target; empty = none."""
    orphan_after: float = 60.0
    """Seconds for which a WorkerScale has to be gone until what it had taken is given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The section `prices`: what an hour of one GPU costs; dashboards alone read it."""

    currency: str = ""
    gpu_hour: float | None = None
    """Of a GPU that neither its ResourceFlavor nor its model has a price for."""
    resource_flavors: Mapping[str, float] = field(default_factory=_frozen)
    models: Mapping[str, float] = field(default_factory=_frozen)
    """modelName -> price; a ResourceFlavor's is stronger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The ConfigMap's content, whole and valid."""

    defaults: Thresholds = DEFAULT_THRESHOLDS
    kinds: Mapping[str, Thresholds] = field(default_factory=_frozen)
    cluster_queues: Mapping[str, Thresholds] = field(default_factory=_frozen)
    namespaces: Mapping[str, Thresholds] = field(default_factory=_frozen)
    pools: Mapping[str, Pool] = field(default_factory=_frozen)
    """In the file's order, which is the order in which shared work is placed."""
    prometheus: PrometheusSettings = PrometheusSettings()
    safety: Safety = Safety()
    queries: Mapping[str, str] = field(default_factory=_frozen)
    schedules: tuple[Schedule, ...] = ()
    worker_scales: WorkerScales = WorkerScales()
    prices: Prices = Prices()
