"""The records that sources decode into and decisions are made from.

Units: an Instant is seconds since the epoch (UTC). Amounts of cpu are millicores, of everything
else whole units (bytes, devices), each rounded up as Kubernetes does.
"""

from scaler.core.model.names import Amounts, Instant, Kind, Name, SourceState
from scaler.core.model.owners import (
    Controlled,
    JobPart,
    Mark,
    NotebookPart,
    OwnerPart,
    RayClusterPart,
    WorkerGroup,
)
from scaler.core.model.pods import OwnerRef, PlacedPod, Pod
from scaler.core.model.queues import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    StopPolicy,
)
from scaler.core.model.shapes import (
    NodeRequirement,
    PodSet,
    PodShape,
    Taint,
    Toleration,
    TopologyRequest,
)
from scaler.core.model.targets import (
    Hpa,
    Node,
    ScaledObject,
    Target,
    TargetRef,
    TriggerSpec,
)
from scaler.core.model.worker_scales import (
    HoldRecord,
    Latch,
    Mode,
    ScaleCondition,
    WorkerScale,
    WorkerScaleStatus,
    WorkerTarget,
)
from scaler.core.model.workloads import Admission, Assignment, Workload

__all__ = [
    "Admission",
    "AdmissionCheck",
    "Amounts",
    "Assignment",
    "ClusterQueue",
    "Cohort",
    "Controlled",
    "HoldRecord",
    "Hpa",
    "Instant",
    "JobPart",
    "Kind",
    "Latch",
    "LocalQueue",
    "Mark",
    "Mode",
    "Name",
    "Node",
    "NodeRequirement",
    "NotebookPart",
    "OwnerPart",
    "OwnerRef",
    "PlacedPod",
    "Pod",
    "PodSet",
    "PodShape",
    "Quota",
    "RayClusterPart",
    "ResourceFlavor",
    "ResourceGroup",
    "ScaleCondition",
    "ScaledObject",
    "SourceState",
    "StopPolicy",
    "Taint",
    "Target",
    "TargetRef",
    "Toleration",
    "TopologyRequest",
    "TriggerSpec",
    "WorkerGroup",
    "WorkerScale",
    "WorkerScaleStatus",
    "WorkerTarget",
    "Workload",
]
