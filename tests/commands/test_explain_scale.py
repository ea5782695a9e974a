"""`explain workerscale/NAME` says what becomes of its workers, why, and what is done now."""

import json
from pathlib import Path

import pytest

from scaler.core.model import Kind
from scaler.sim.patches import Document
from scaler.sim.scenario_ray import SIM, SIM_WORKERS
from tests.commands.furnished import Furnished, explained
from tests.commands.situations import without_prometheus

NAMESPACE, NAME = SIM_WORKERS


def set_scale(cluster: Furnished, *, replicas: int, size: int | None = 2) -> None:
    """Write what KEDA and the actuator would."""

    def change(document: Document) -> None:
        document["spec"]["replicas"] = replicas
        if size is not None:
            document["status"] = {"size": size}

    cluster.cluster.objects.modify(Kind.WORKER_SCALES, SIM_WORKERS, change)


def test_an_idle_one_tells_what_is_done_now_in_order(ray: Furnished) -> None:
    """The record before the target, and the Decision that it rests on below."""
    set_scale(ray, replicas=0)
    code, told = ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE)
    assert code == 0
    lines = told.splitlines()
    assert lines[0] == f"{NAMESPACE}/{NAME}  Holding"
    assert lines[1].startswith("  reason    Idle: ")
    assert lines[2] == f"  workers   RayCluster/{SIM[1]} (gpu), mode Hold"
    assert lines[3] == "  replicas  0 wanted, 2 there, full size 2"
    steps = [line[12:] for line in lines if line[12:15] in ("1. ", "2. ", "3. ")]
    assert steps[0] == "1. add our finalizer"
    assert steps[1].startswith("2. write the status: state, reason, ")
    assert steps[2] == f"3. suspend worker group gpu of RayCluster {SIM[0]}/{SIM[1]}"
    assert lines[lines.index("decided by") + 1].startswith(f"  {NAMESPACE}/{NAME}  inactive, ")


def test_explaining_writes_nothing(ray: Furnished) -> None:
    """It is a look."""
    set_scale(ray, replicas=0)
    before = ray.cluster.objects.version
    ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE)
    assert ray.cluster.objects.version == before


def test_json_has_all_of_it(ray: Furnished) -> None:
    """Programs read the same plan."""
    set_scale(ray, replicas=0)
    code, told = ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE, "-o", "json")
    shown = json.loads(told)
    assert (code, shown["state"], shown["cause"]) == (0, "Holding", "Idle")
    assert shown["hold"]["podSets"] == {"gpu": 2}
    assert shown["hold"]["usage"]["nvidia.com/gpu"] == 8
    assert [each["reason"] for each in shown["decisions"]] == ["Idle"]
    assert len(shown["steps"]) == 3


def test_without_prometheus_nothing_is_taken_and_the_exit_code_is_3(ray: Furnished) -> None:
    """What is not known is not idle."""
    set_scale(ray, replicas=0)
    without_prometheus(ray)
    code, told = ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE)
    assert code == 3
    assert told.startswith(f"{NAMESPACE}/{NAME}  NotIdle\n")
    assert "suspend worker group" not in told


@pytest.mark.parametrize(
    "arguments",
    [
        (f"wscale/{NAME}", "-n", NAMESPACE),
        (f"workerscales.kueue-gpu-scaler.dev/{NAME}", "--namespace", NAMESPACE),
        (f"WorkerScale/{NAMESPACE}/{NAME}",),
    ],
)
def test_a_worker_scale_is_named_as_kubectl_names_it(
    arguments: tuple[str, ...], ray: Furnished
) -> None:
    """Or with its namespace before it."""
    set_scale(ray, replicas=2)
    code, told = ray.run("explain", *arguments)
    assert code == 0
    assert told.startswith(f"{NAMESPACE}/{NAME}  Running\n")


def test_one_that_does_not_exist_names_those_that_do(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error is seen at once."""
    assert ray.run("explain", "workerscale/nope", "-n", NAMESPACE) == (2, "")
    assert capsys.readouterr().err == (
        f"kueue-gpu-scaler: WorkerScale {NAMESPACE}/nope does not exist; "
        f"those that do: {NAMESPACE}/{NAME}\n"
    )


def test_a_cluster_without_the_crd_says_so(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is another thing than one that does not exist."""
    cluster.serve_only(Kind.WORKER_SCALES)
    assert cluster.run("explain", "workerscale/a", "-n", "b") == (2, "")
    assert "is not known: the CRD is not installed" in capsys.readouterr().err


def test_worker_scales_that_cannot_be_read_are_one_sentence(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the API server said is in it."""
    ray.cluster.api.faults.forbidden.add(Kind.WORKER_SCALES)
    assert ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE) == (2, "")
    said = capsys.readouterr().err
    assert "is not known: they can't be read: 403 on list " in said


def test_its_name_given_as_a_scaled_objects_leads_to_it(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever forgets the kind is told."""
    ray.cluster.objects.delete(Kind.SCALED_OBJECTS, SIM_WORKERS)
    assert ray.run("explain", f"{NAMESPACE}/{NAME}") == (2, "")
    hint = f"(a WorkerScale does: workerscale/{NAME} -n {NAMESPACE})"
    assert hint in capsys.readouterr().err


# --- bundles -------------------------------------------------------------------------------------


def captured(ray: Furnished, *named: str) -> Path:
    """Write a bundle of the WorkerScale."""
    folder = ray.folder / "report"
    code, told = ray.run("capture", str(folder), *(named or (f"workerscale/{NAMESPACE}/{NAME}",)))
    assert code == 0
    assert "Decides as the cluster did: " in told
    return folder


def test_a_captured_worker_scale_is_planned_as_the_cluster_did(ray: Furnished) -> None:
    """Law: the bundle has all that the plan is made from, the RayCluster's groups too."""
    set_scale(ray, replicas=0)
    _, told = ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE, "-o", "json")
    code, bundled = explained(captured(ray))
    assert (code, bundled) == (0, json.loads(told))
    assert bundled["state"] == "Holding"


def test_a_bundle_without_samples_takes_nothing(ray: Furnished) -> None:
    """What is not known is not idle, in a bundle too."""
    set_scale(ray, replicas=0)
    folder = captured(ray)
    (folder / "samples.om").unlink()
    code, bundled = explained(folder)
    assert (code, bundled["state"]) == (3, "NotIdle")
    assert not [step for step in bundled["steps"] if step.startswith("suspend")]


def test_a_bundle_without_the_target_is_refused_by_its_file(ray: Furnished) -> None:
    """It says which file is missing, and exits 3."""
    set_scale(ray, replicas=0)
    folder = captured(ray)
    (folder / "objects" / "rayclusters.json").unlink()
    code, bundled = explained(folder)
    assert (code, bundled["cause"]) == (3, "SourceUnknown")
    assert "objects/rayclusters.yaml is not in the bundle" in bundled["message"]


def test_a_worker_scale_of_a_bundle_can_be_named(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the ScaledObject that its trigger.yaml is; one that is not there is told."""
    set_scale(ray, replicas=0)
    folder = captured(ray, f"{NAMESPACE}/{NAME}")
    assert explained(folder)[1]["reason"] == "Idle"
    code, told = ray.run("explain", f"workerscale/{NAME}", "-n", NAMESPACE, "--bundle", str(folder))
    assert told.startswith(f"{NAMESPACE}/{NAME}  ")
    assert code in (0, 3)
    assert ray.run("explain", "wscale/a/b", "--bundle", str(folder)) == (2, "")
    assert f"WorkerScale a/b does not exist; those that do: {NAMESPACE}/{NAME}" in (
        capsys.readouterr().err
    )


def test_an_unknown_worker_scale_leaves_no_folder(
    ray: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error costs nothing."""
    assert ray.run("capture", str(ray.folder / "report"), "workerscale/a/b") == (2, "")
    assert "WorkerScale a/b does not exist" in capsys.readouterr().err
    assert not (ray.folder / "report").exists()
