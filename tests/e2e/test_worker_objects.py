"""Jobs of several pods ask for the same workers, whatever their kind."""

import json

from tests.e2e.queues import QUEUE_LABEL, ray_cluster
from tests.e2e.worker_objects import (
    RUNTIME,
    ray_job,
    train_job,
    training_runtime,
    two_groups,
    worker_scale,
)


def test_a_ray_jobs_cluster_is_a_ray_cluster() -> None:
    """Only whether it is suspended is the RayJob's own."""
    cluster = ray_cluster("a", namespace="team", queue="q", workers=2, gpus=4)
    found = ray_job("a", namespace="team", queue="q", workers=2, gpus=4)
    assert found["spec"]["suspend"]
    assert {**found["spec"]["rayClusterSpec"], "suspend": True} == cluster["spec"]
    assert found["metadata"]["labels"] == {QUEUE_LABEL: "q"}


def test_a_train_job_names_the_runtime_that_is_there() -> None:
    """Its nodes ask for the GPUs."""
    found = train_job("a", namespace="team", queue="q", nodes=2, gpus=4)
    assert found["spec"]["runtimeRef"]["name"] == RUNTIME
    assert training_runtime("team")["metadata"]["name"] == RUNTIME
    assert found["spec"]["trainer"]["numNodes"] == 2
    assert '"nvidia.com/gpu": "4"' in json.dumps(found)


def test_groups_have_names_of_their_own() -> None:
    """And are equal otherwise."""
    cluster = ray_cluster("a", namespace="team", queue="q", workers=1, gpus=4)
    one, two = two_groups(cluster, "x", "y")["spec"]["workerGroupSpecs"]
    assert (one["groupName"], two["groupName"]) == ("x", "y")
    assert {**one, "groupName": "y"} == two


def test_a_worker_scale_points_at_its_target() -> None:
    """Without a size: what it is at first is read."""
    cluster = ray_cluster("a", namespace="team", queue="q", workers=1, gpus=4)
    spec = worker_scale("s", namespace="team", target=cluster, component="gpu", maxHold="4h")[
        "spec"
    ]
    assert spec == {
        "target": {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "name": "a",
            "component": "gpu",
        },
        "mode": "Hold",
        "maxHold": "4h",
    }
    released = worker_scale("s", namespace="team", target=cluster, mode="Release")["spec"]
    assert "component" not in released["target"]
