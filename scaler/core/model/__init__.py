"""The records that sources decode into and decisions are made from.

Units: an Instant is seconds since the epoch (UTC). Amounts of cpu are millicores, of everything
else whole units (bytes, devices), each rounded up as Kubernetes does.
"""

from scaler.core.model.names import Amounts, Instant, Kind, Name, SourceState
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
    Controlled,
    Hpa,
    Node,
    ScaledObject,
    Target,
    TargetRef,
    TriggerSpec,
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
    "Hpa",
    "Instant",
    "Kind",
    "LocalQueue",
    "Name",
    "Node",
    "NodeRequirement",
    "OwnerRef",
    "PlacedPod",
    "Pod",
    "PodSet",
    "PodShape",
    "Quota",
    "ResourceFlavor",
    "ResourceGroup",
    "ScaledObject",
    "SourceState",
    "StopPolicy",
    "Taint",
    "Target",
    "TargetRef",
    "Toleration",
    "TopologyRequest",
    "TriggerSpec",
    "Workload",
]
