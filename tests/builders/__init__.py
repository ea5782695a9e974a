"""Build records and snapshots for tests: keyword arguments with the defaults of one small cluster.

That cluster: LocalQueue `ml/lq` leads to ClusterQueue `gpu-cq`, whose flavor `gpu` covers
`nvidia.com/gpu` without a limit in sight, on nodes labelled `pool=gpu` with 8 GPUs each.
"""

from tests.builders.cluster import (
    make_hpa,
    make_node,
    make_placed_pod,
    make_pod,
    make_scaled_object,
    make_target,
)
from tests.builders.joined import make_snapshot
from tests.builders.queues import (
    make_cluster_queue,
    make_cohort,
    make_controlled,
    make_flavor,
    make_group,
    make_local_queue,
)
from tests.builders.scales import handle, make_hold, make_worker_scale
from tests.builders.values import (
    GPU,
    LONG_AGO,
    NOW,
    PLENTY,
    POOL_LABELS,
    amounts,
    make_owner,
    make_pod_set,
    make_shape,
)
from tests.builders.workloads import make_admission, make_assignment, make_workload

__all__ = [
    "GPU",
    "LONG_AGO",
    "NOW",
    "PLENTY",
    "POOL_LABELS",
    "amounts",
    "handle",
    "make_admission",
    "make_assignment",
    "make_cluster_queue",
    "make_cohort",
    "make_controlled",
    "make_flavor",
    "make_group",
    "make_hold",
    "make_hpa",
    "make_local_queue",
    "make_node",
    "make_owner",
    "make_placed_pod",
    "make_pod",
    "make_pod_set",
    "make_scaled_object",
    "make_shape",
    "make_snapshot",
    "make_target",
    "make_worker_scale",
    "make_workload",
]
