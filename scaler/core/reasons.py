"""The closed sets of words that explain a Decision and class a Workload."""

from collections.abc import Mapping
from enum import StrEnum


class Reason(StrEnum):
    """Say in one word why a Decision is what it is; every Decision carries exactly one."""

    # Queue signal, a value came out.
    DEMAND = "Demand"
    """Nodes (GPUs, Workloads) are needed beyond what is there."""
    NO_DEMAND = "NoDemand"
    """Nothing waits that more nodes would help; the value is what is there."""
    QUOTA_EXHAUSTED = "QuotaExhausted"
    """Work waits, but for quota: nodes would not help."""
    CAPPED = "Capped"
    """More is needed than maxNodes allows."""
    FITS_NO_NODE = "FitsNoNode"
    """All that waits is larger than any node of the pool."""
    TOPOLOGY_DISAGREES = "TopologyDisagrees"
    """The work fits by our packing, yet Kueue reports TopologyPlacementFailed for over a minute."""
    SWALLOWED = "Swallowed"
    """The change lies within the HPA's tolerance, which this cluster's HPA does not switch off."""

    # Idle signal, a verdict came out.
    BUSY = "Busy"
    """A GPU, its power or a keep-alive query shows work within the window."""
    IDLE = "Idle"
    """Every GPU of every pod was seen idle for the whole window."""
    STARTING = "Starting"
    """Pods are missing, not Ready, or too young to be judged."""
    OPTED_OUT = "OptedOut"
    """The label or annotation kueue-gpu-scaler.dev/ignore says true."""
    SCHEDULED = "Scheduled"
    """A schedule of the policy keeps the namespace active now."""
    NOTHING_TO_MEASURE = "NothingToMeasure"
    """The component requests no GPU, so its idleness can't be seen."""
    WAKE = "Wake"
    """At zero, and a wake signal is on."""
    AT_ZERO = "AtZero"
    """At zero, and no wake signal is on."""
    DRY_RUN = "DryRun"
    """It would be idle; a dry run keeps it."""

    # UNKNOWN: the answer is HOLD.
    NOT_SYNCED = "NotSynced"
    """A kind that is needed was not listed completely yet, or may not be read."""
    SOURCE_STALE = "SourceStale"
    """A kind that is needed showed no sign of life for maxWatchAge."""
    CLUSTER_QUEUE_MISSING = "ClusterQueueMissing"
    """None of the trigger's ClusterQueues exists."""
    SIZE_UNKNOWN = "SizeUnknown"
    """The target's present size can't be read."""
    POOL_MISSING = "PoolMissing"
    """The policy has no pool of that name."""
    POOL_TAKEN = "PoolTaken"
    """An older ScaledObject already sizes this pool."""
    TARGET_MISSING = "TargetMissing"
    """The trigger names no target or Workload that can be found."""
    PROMETHEUS_FAILED = "PrometheusFailed"
    """A query failed, timed out, or came with warnings."""
    NO_SAMPLES = "NoSamples"
    """A GPU pod has no usable sample in the window."""
    STALE_SAMPLES = "StaleSamples"
    """A device's newest sample is older than maxSampleAge."""
    LOW_COVERAGE = "LowCoverage"
    """A device has too few samples in the window."""
    DEVICE_MISMATCH = "DeviceMismatch"
    """The devices that report are not as many as the pod requests."""
    SHARING_SUSPECTED = "SharingSuspected"
    """A GPU pod on the same node has no series, so a device may be shared."""
    MASS_IDLE = "MassIdle"
    """Many workloads turned idle at once: the telemetry is doubted first."""
    QUERY_MISSING = "QueryMissing"
    """A keepAlive or wake query that the trigger names is not in the policy."""
    BAD_METADATA = "BadMetadata"
    """The trigger's metadata is malformed (GetMetricSpec says INVALID_ARGUMENT)."""
    INTERNAL = "Internal"
    """The decision itself failed; the log has the traceback."""


class WorkloadClass(StrEnum):
    """Class every Workload exactly once, by what would help it."""

    UNPLACED = "A"
    """Admitted, pods missing or unschedulable: needs nodes."""
    TOPOLOGY = "B"
    """TopologyPlacementFailed: needs nodes."""
    CHECKS = "C"
    """Quota reserved, an admission check is pending: another system provisions."""
    QUOTA = "D"
    """Waits for quota: needs nodes as far as quota is free."""
    EXCEEDS = "E"
    """Asks for more than the ClusterQueue can ever have."""
    NO_FLAVOR = "F"
    """No ResourceFlavor matches it."""
    NOT_DEMAND = "G"
    """Inactive, deactivated, stopped, unroutable, backing off or waiting for replacement pods."""
    PREEMPTING = "H"
    """Waits for its preemption victims to go."""
    BLOCKED = "I"
    """Waits for an earlier Workload's pods to be Ready."""
    NOT_EVALUATED = "J"
    """Kueue did not look at it yet: needs nodes as far as quota is free."""
    RUNNING = "Admitted"
    """Admitted, every pod placed."""
    HELD = "Held"
    """Admitted, its workers are held at zero: its quota is used, and it needs no nodes."""
    FINISHED = "Finished"
    """Finished, or being deleted with no live pod: counts nowhere."""
    CONTRADICTORY = "Contradictory"
    """Status that contradicts itself: no growth, and visible."""


CLASS_WORDS: Mapping[str, str] = {
    WorkloadClass.UNPLACED: "admitted, no place for its pods",
    WorkloadClass.TOPOLOGY: "no place in the topology",
    WorkloadClass.CHECKS: "admission check pending",
    WorkloadClass.QUOTA: "waits for quota",
    WorkloadClass.EXCEEDS: "more than the ClusterQueue can have",
    WorkloadClass.NO_FLAVOR: "no flavor matches",
    WorkloadClass.NOT_DEMAND: "inactive, stopped or backing off",
    WorkloadClass.PREEMPTING: "waits for preemption victims",
    WorkloadClass.BLOCKED: "waits for earlier pods to be Ready",
    WorkloadClass.NOT_EVALUATED: "not looked at by Kueue yet",
    WorkloadClass.HELD: "admitted, its workers at zero",
}
"""What the letters mean, for people."""
