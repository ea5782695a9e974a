"""ScaledObjects and the HPAs that KEDA makes."""

import json

import pytest

from scaler.core.model import Hpa, Kind, ScaledObject
from scaler.kube.decode import decode
from tests.kube.decoding import one
from tests.kube.documents import Document, scaled_object


def test_kedas_defaults_are_filled_in() -> None:
    """A Deployment, from 0 to 100 replicas."""
    record = one(Kind.SCALED_OBJECTS, scaled_object())
    assert isinstance(record, ScaledObject)
    assert (record.target.kind, record.target.api_version) == ("Deployment", "apps/v1")
    assert (record.min_replicas, record.max_replicas, record.idle_replicas) == (0, 100, None)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({}, False),
        ({"paused": "true"}, True),
        ({"paused": "false"}, False),
        ({"paused": "perhaps"}, True),
        ({"paused_replicas": "0"}, True),
        ({"paused_scale_in": "true"}, False),
    ],
)
def test_paused_is_as_keda_reads_it(annotations: dict[str, str], want: bool) -> None:  # noqa: FBT001  # the expected answer
    """A value that is no boolean pauses; pausing one direction does not."""
    record = one(Kind.SCALED_OBJECTS, scaled_object(**annotations))
    assert isinstance(record, ScaledObject)
    assert record.paused is want


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({"labels": {"scaledobject.keda.sh/name": "so"}}, 1),
        ({"labels": {"app.kubernetes.io/managed-by": "keda-operator"}}, 1),
        ({"ownerReferences": [{"kind": "ScaledObject", "apiVersion": "keda.sh/v1alpha1"}]}, 1),
        ({"ownerReferences": [{"kind": "ScaledObject", "apiVersion": "other/v1"}]}, 0),
        ({"labels": {"app": "web"}}, 0),
    ],
)
def test_only_kedas_hpas_are_kept(meta: Document, kept: int) -> None:
    """Others are neither records nor malformed."""
    document = {"metadata": {"name": "h", "namespace": "ml", **meta}}
    decoded = decode(Kind.HPAS, json.dumps(document).encode())
    assert (len(decoded.records), decoded.skipped) == (kept, 0)


@pytest.mark.parametrize(
    ("status", "reason", "want"),
    [
        ("True", "ValidMetricFound", (False, False)),
        ("False", "ScalingDisabled", (True, False)),
        ("False", "InvalidSelector", (False, True)),
    ],
)
def test_a_failing_hpa_is_told_from_one_at_zero(
    status: str, reason: str, want: tuple[bool, bool]
) -> None:
    """Both are ScalingActive=False."""
    labels = {"scaledobject.keda.sh/name": "so"}
    condition = {"type": "ScalingActive", "status": status, "reason": reason}
    document = {
        "metadata": {"name": "h", "namespace": "ml", "labels": labels},
        "status": {"conditions": [condition], "currentReplicas": 1, "desiredReplicas": 5},
    }
    record = one(Kind.HPAS, document)
    assert isinstance(record, Hpa)
    assert (record.current_replicas, record.desired_replicas) == (1, 5)
    assert (record.scaling_disabled, record.scaling_failed) == want


@pytest.mark.parametrize(
    ("status", "reason", "want"),
    [
        ("True", "SucceededRescale", 5),
        ("True", "ReadyForNewScale", 5),
        ("False", "FailedGetScale", 5),
        ("False", "FailedUpdateScale", None),
    ],
)
def test_what_an_hpa_could_not_write_is_not_what_it_left(
    status: str, reason: str, want: int | None
) -> None:
    """It keeps the number that it wrote before, while somebody else may have shrunk the target."""
    able = {"type": "AbleToScale", "status": status, "reason": reason}
    document = {
        "metadata": {"name": "h", "namespace": "ml", "labels": {"scaledobject.keda.sh/name": "so"}},
        "status": {"conditions": [able], "currentReplicas": 1, "desiredReplicas": 5},
    }
    record = one(Kind.HPAS, document)
    assert isinstance(record, Hpa)
    assert (record.current_replicas, record.desired_replicas) == (1, want)
