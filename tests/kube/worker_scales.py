"""WorkerScales as the API server writes them, and statuses of every shape."""

from typing import Final

from hypothesis import strategies as st

from scaler.core.model import (
    HoldRecord,
    Instant,
    Latch,
    ScaleCondition,
    WorkerScale,
    WorkerScaleStatus,
)
from scaler.core.model import Kind as Plural
from tests.kube.decoding import one
from tests.kube.documents import Document

NOW: Final[Instant] = 1_772_359_200.0
"""2026-03-01T10:00:00Z."""


def scale_document(**spec: object) -> Document:
    """Write a WorkerScale of a RayCluster's group, with other values in its spec."""
    target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "rc", "component": "gpu"}
    return {
        "apiVersion": "kueue-gpu-scaler.dev/v1alpha1",
        "kind": "WorkerScale",
        "metadata": {
            "name": "ws",
            "namespace": "ml",
            "uid": "uid-ws",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "generation": 3,
            "resourceVersion": "77",
        },
        "spec": {"target": target, "mode": "Hold", "replicas": 1, **spec},
    }


def a_scale(document: Document | None = None) -> WorkerScale:
    """Decode a WorkerScale that must be in order."""
    record = one(Plural.WORKER_SCALES, document or scale_document())
    assert isinstance(record, WorkerScale)
    return record


HOLD = HoldRecord(
    workload="raycluster-rc-1",
    workload_uid="uid-w",
    usage=(("cpu", 8500), ("nvidia.com/gpu", 8)),
    pod_sets=(("gpu", 2),),
    since=NOW,
    reserved_at=NOW - 60,
    target_uid="uid-rc",
)


# --- statuses of every shape -------------------------------------------------------------------

INSTANTS = st.integers(0, 4_000_000_000_000_000).map(lambda micros: micros / 1_000_000)
WORDS = st.text(max_size=12)
COUNTS = st.integers(0, 2**31 - 1)
AMOUNTS = st.dictionaries(
    st.sampled_from(("cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb")),
    st.integers(1, 2**53),
).map(lambda found: tuple(sorted(found.items())))
HOLDS = st.builds(
    HoldRecord,
    workload=WORDS,
    workload_uid=WORDS,
    usage=AMOUNTS,
    pod_sets=st.dictionaries(WORDS, COUNTS, max_size=3).map(
        lambda found: tuple(sorted(found.items()))
    ),
    since=INSTANTS,
    reserved_at=st.none() | INSTANTS,
    evictions=COUNTS,
    target_uid=WORDS,
    taken_at=st.none() | INSTANTS,
    gone_at=st.none() | INSTANTS,
    waking_at=st.none() | INSTANTS,
    reason=WORDS,
    ordered=st.none() | INSTANTS,
)
CONDITIONS = st.lists(
    st.builds(
        ScaleCondition,
        type=st.sampled_from(("Ready", "Held", "Released", "Refused", "Conflict")),
        status=st.sampled_from(("True", "False", "Unknown")),
        reason=st.sampled_from(("AsWanted", "Idle", "NotTaken")),
        message=WORDS,
        changed=INSTANTS,
        observed_generation=COUNTS,
    ),
    max_size=5,
    unique_by=lambda condition: condition.type,
).map(tuple)
STATUSES = st.builds(
    WorkerScaleStatus,
    observed_generation=st.integers(0, 2**62),
    replicas=COUNTS,
    selector=WORDS,
    size=st.none() | COUNTS,
    state=WORDS,
    reason=WORDS,
    message=WORDS,
    hold=st.none() | HOLDS,
    latch=st.none()
    | st.builds(Latch, cause=WORDS, message=WORDS, generation=st.integers(-1, 2**62)),
    conditions=CONDITIONS,
)
