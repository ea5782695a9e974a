"""Each step as API requests, byte for byte."""

from collections.abc import Sequence

import pytest

from scaler.core.hold.steps import (
    DropMark,
    SetFinalizer,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import Kind, WorkerScaleStatus
from scaler.kube.requests import Request, requests
from tests.kube.test_requests import GIVE, JSON_PATCH, MARK, RELEASE, SCALE, TAKE, WAKE, made

MERGE_PATCH = "application/merge-patch+json"
V1 = "/apis/ray.io/v1/namespaces/ml/rayclusters/rc"
OWN = "/apis/kueue-gpu-scaler.dev/v1alpha1/namespaces/ml/workerscales/ws"
WORKLOAD = "namespaces/ml/workloads/w"


@pytest.mark.parametrize(
    ("step", "path", "bodies"),
    [
        (
            TAKE,
            V1,
            (
                (
                    b'[{"op":"test","path":"/metadata/uid","value":"uid-rc"},'
                    b'{"op":"test","path":"/spec/workerGroupSpecs/1/groupName","value":"gpu"},'
                    b'{"op":"add","path":"/metadata/annotations/held.kueue-gpu-scaler.dev~1gpu",'
                    b'"value":"{\\"by\\":\\"ws\\",\\"uid\\":\\"uid-ws\\",\\"was\\":\\"false\\"}"},'
                    b'{"op":"add","path":"/spec/workerGroupSpecs/1/suspend","value":true}]'
                ),
                (
                    b'[{"op":"test","path":"/metadata/uid","value":"uid-rc"},'
                    b'{"op":"test","path":"/spec/workerGroupSpecs/1/groupName","value":"gpu"},'
                    b'{"op":"test","path":"/metadata/annotations","value":null},'
                    b'{"op":"add","path":"/metadata/annotations","value":{"'
                    b'held.kueue-gpu-scaler.dev/gpu":'
                    b'"{\\"by\\":\\"ws\\",\\"uid\\":\\"uid-ws\\",\\"was\\":\\"false\\"}"}},'
                    b'{"op":"add","path":"/spec/workerGroupSpecs/1/suspend","value":true}]'
                ),
            ),
        ),
        (
            GIVE,
            V1,
            (
                (
                    b'[{"op":"test","path":"/metadata/uid","value":"uid-rc"},'
                    b'{"op":"test","path":"/spec/workerGroupSpecs/1/groupName","value":"gpu"},'
                    b'{"op":"remove","path":"/metadata/annotations/held.kueue-gpu-scaler.dev~1gpu"},'
                    b'{"op":"add","path":"/spec/workerGroupSpecs/1/suspend","value":false}]'
                ),
            ),
        ),
        (
            WAKE,
            f"/apis/kueue.x-k8s.io/v1beta2/{WORKLOAD}",
            (
                (
                    b'[{"op":"test","path":"/metadata/uid","value":"uid-w"},'
                    b'{"op":"test","path":"/spec/active","value":false},'
                    b'{"op":"test",'
                    b'"path":"/metadata/annotations/kueue-gpu-scaler.dev~1released-by","value":"ws"},'
                    b'{"op":"remove",'
                    b'"path":"/metadata/annotations/kueue-gpu-scaler.dev~1released-by"},'
                    b'{"op":"add","path":"/spec/active","value":true}]'
                ),
            ),
        ),
        (
            DropMark(kind="RayCluster", object=("ml", "rc"), mark=MARK),
            V1,
            (b'[{"op":"remove","path":"/metadata/annotations/held.kueue-gpu-scaler.dev~1gpu"}]',),
        ),
    ],
    ids=["take", "give", "wake", "drop"],
)
def test_json_patches(step: Step, path: str, bodies: Sequence[bytes]) -> None:
    """Tests first: where one fails the whole patch does."""
    assert made(step) == tuple(
        Request(method="PATCH", path=path, content_type=JSON_PATCH, body=body) for body in bodies
    )


@pytest.mark.parametrize(
    ("step", "path", "body"),
    [
        (
            SetParallelism(
                job=("ml", "js-w-0"), resource_version="9", parallelism=0, mark=MARK, taking=True
            ),
            "/apis/batch/v1/namespaces/ml/jobs/js-w-0",
            (
                b'{"metadata":{"resourceVersion":"9","annotations":{"held.kueue-gpu-scaler.dev/gpu":'
                b'"{\\"by\\":\\"ws\\",\\"uid\\":\\"uid-ws\\",\\"was\\":\\"false\\"}"}},'
                b'"spec":{"parallelism":0}}'
            ),
        ),
        (
            SetParallelism(
                job=("ml", "js-w-0"), resource_version="9", parallelism=2, mark=MARK, taking=False
            ),
            "/apis/batch/v1/namespaces/ml/jobs/js-w-0",
            (
                b'{"metadata":{"resourceVersion":"9","annotations":'
                b'{"held.kueue-gpu-scaler.dev/gpu":null}},"spec":{"parallelism":2}}'
            ),
        ),
        (
            SetReplicas(replicas=4),
            OWN,
            b'{"metadata":{"resourceVersion":"77"},"spec":{"replicas":4}}',
        ),
        (
            SetFinalizer(present=True),
            OWN,
            b'{"metadata":{"resourceVersion":"77","finalizers":["kueue-gpu-scaler.dev/restore"]}}',
        ),
        (
            SetFinalizer(present=False),
            OWN,
            b'{"metadata":{"resourceVersion":"77","finalizers":[]}}',
        ),
        (
            WriteStatus(status=WorkerScaleStatus(state="Running", reason="AsWanted", size=2)),
            f"{OWN}/status",
            (
                b'{"metadata":{"resourceVersion":"77"},"status":{"observedGeneration":0,'
                b'"replicas":0,"selector":"","size":2,"state":"Running","reason":"AsWanted",'
                b'"message":"","hold":null,"latch":null,"conditions":[]}}'
            ),
        ),
    ],
    ids=["take", "give", "replicas", "finalizer", "no finalizer", "status"],
)
def test_merge_patches(step: Step, path: str, body: bytes) -> None:
    """All of them hold on one resourceVersion: an older one is answered with 409."""
    want = Request(method="PATCH", path=path, content_type=MERGE_PATCH, body=body)
    assert made(step) == (want,)


def test_kinds_are_written_in_the_version_that_is_served() -> None:
    """Kueue before 0.15 has no v1beta2."""
    request, *_ = requests(SCALE, RELEASE, {Kind.WORKLOADS: "v1beta1"})
    assert request.path == f"/apis/kueue.x-k8s.io/v1beta1/{WORKLOAD}"
