"""What each step's API requests make of an object."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scaler.core.hold.steps import (
    DropMark,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    Step,
)
from scaler.core.model import Mark, WorkerScaleStatus
from scaler.kube.requests import Request, requests
from scaler.sim.patches import PatchFailedError, json_patched, merged
from tests.kube.documents import Document
from tests.kube.worker_scales import HOLD, a_scale, scale_document

MARK = Mark(component="gpu", by="ws", uid="uid-ws", was="false")
HELD = "held.kueue-gpu-scaler.dev/gpu"
MARKED = {HELD: '{"by":"ws","uid":"uid-ws","was":"false"}'}
RELEASED = {"kueue-gpu-scaler.dev/released-by": "ws"}
SCALE = a_scale()
JSON_PATCH = "application/json-patch+json"

TAKE = SetGroup(cluster=("ml", "rc"), uid="uid-rc", index=1, group="gpu", suspend=True, mark=MARK)
GIVE = replace(TAKE, suspend=False)
RELEASE = SetActive(workload=("ml", "w"), uid="uid-w", active=False, by="ws")
WAKE = replace(RELEASE, active=True)
STOP = SetNotebook(notebook=("ml", "n"), resource_version="9", stop=True, mark=MARK)


def made(step: Step) -> tuple[Request, ...]:
    """Give a step's requests in the table's versions."""
    return requests(SCALE, step, {})


def done(step: Step, document: Document) -> Document:
    """Apply a step's requests in order as the API server would, until one is taken.

    Raises:
        PatchFailedError: none of them is (HTTP 422).
    """
    taken = [each for each in made(step) if _taken(each, document)]
    if not taken:
        raise PatchFailedError("422")
    return _applied(taken[0], document)


def _taken(request: Request, document: Document) -> bool:
    try:
        _applied(request, document)
    except PatchFailedError:
        return False
    return True


def _applied(request: Request, document: Document) -> Document:
    patch = json.loads(request.body)
    if request.content_type == JSON_PATCH:
        return json_patched(document, patch)
    found = merged(document, patch)
    assert isinstance(found, dict)
    return found


def cluster(**meta: object) -> Document:
    """Write a RayCluster of two groups."""
    groups = [{"groupName": "cpu", "replicas": 1}, {"groupName": "gpu", "replicas": 2}]
    return {
        "metadata": {"name": "rc", "uid": "uid-rc", **meta},
        "spec": {"workerGroupSpecs": groups},
    }


def suspended(document: Document) -> list[bool | None]:
    """Give each group's suspend."""
    return [group.get("suspend") for group in document["spec"]["workerGroupSpecs"]]


# --- what they do ------------------------------------------------------------------------------


@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}])
def test_a_group_is_taken_with_its_mark_and_given_back(annotations: Document | None) -> None:
    """Whether the object had annotations or none at all; all else stays."""
    before = cluster() if annotations is None else cluster(annotations=annotations)
    taken = done(TAKE, before)
    assert suspended(taken) == [None, True]
    assert taken["metadata"]["annotations"] == {**(annotations or {}), **MARKED}
    given = done(GIVE, taken)
    assert suspended(given) == [None, False]
    assert given["metadata"]["annotations"] == (annotations or {})


def test_a_flag_that_was_absent_is_absent_again() -> None:
    """`was` is empty then."""
    step = replace(GIVE, mark=replace(MARK, was=""))
    taken = done(TAKE, cluster())
    assert suspended(done(step, taken)) == [None, None]
    assert suspended(done(replace(GIVE, mark=replace(MARK, was="true")), taken)) == [None, True]


@pytest.mark.parametrize("step", [TAKE, GIVE])
def test_another_group_at_the_index_is_left_alone(step: SetGroup) -> None:
    """Somebody put a group before it."""
    document = cluster(annotations=MARKED)
    document["spec"]["workerGroupSpecs"].insert(0, {"groupName": "new"})
    with pytest.raises(PatchFailedError):
        done(step, document)
    with pytest.raises(PatchFailedError):
        done(replace(step, index=7), document)


@pytest.mark.parametrize("step", [TAKE, GIVE])
def test_another_cluster_of_that_name_is_left_alone(step: SetGroup) -> None:
    """It was deleted and made anew since it was looked at: nobody judged this one."""
    with pytest.raises(PatchFailedError):
        done(step, cluster(uid="another", annotations=MARKED))


def test_what_has_no_mark_is_not_given_back() -> None:
    """Another writer took it off: what was there is not ours to say."""
    for document in (cluster(), cluster(annotations={"a": "b"})):
        with pytest.raises(PatchFailedError):
            done(GIVE, document)


@pytest.mark.parametrize("kind", ["RayCluster", "Job", "Notebook"])
def test_a_mark_is_dropped_alone(kind: str) -> None:
    """And where it is gone that is said."""
    step = DropMark(kind=kind, object=("ml", "rc"), mark=MARK)
    dropped = done(step, cluster(annotations={"a": "b", **MARKED}))
    assert dropped == cluster(annotations={"a": "b"})
    with pytest.raises(PatchFailedError):
        done(step, dropped)


def test_the_mark_of_a_workload_that_another_set_active_is_dropped_alone() -> None:
    """Its mark is another annotation, which names who released it: no one else's goes."""
    mark = Mark(component="", by="ws", uid="", was="true")
    step = DropMark(kind="Workload", object=("ml", "w"), mark=mark)
    kept = {"a": "b"}
    dropped = done(step, a_workload(annotations={**kept, **RELEASED}, active=True))
    assert dropped == a_workload(annotations=kept, active=True)
    assert "/workloads/w" in made(step)[0].path
    with pytest.raises(PatchFailedError):
        done(replace(step, mark=replace(mark, by="x")), a_workload(annotations=RELEASED))


def a_workload(*, annotations: object = None, **spec: object) -> Document:
    """Write a Workload's metadata and spec."""
    meta: Document = {"uid": "uid-w"}
    if annotations is not None:
        meta["annotations"] = annotations
    return {"metadata": meta, "spec": {"queueName": "lq", **spec}}


@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}])
@pytest.mark.parametrize("active", [{}, {"active": True}])
def test_an_active_workload_is_released_and_woken(active: Document, annotations: object) -> None:
    """Absent is active; the annotation says that it was us."""
    others = annotations or {}
    assert isinstance(others, dict)
    released = done(RELEASE, a_workload(annotations=annotations, **active))
    assert released == a_workload(annotations={**others, **RELEASED}, active=False)
    assert done(WAKE, released) == a_workload(annotations=others, active=True)


@pytest.mark.parametrize(
    ("step", "document"),
    [
        (RELEASE, a_workload(active=False)),
        (RELEASE, {**a_workload(), "metadata": {"uid": "another"}}),
        (WAKE, a_workload(active=False)),
        (WAKE, a_workload(active=False, annotations={"kueue-gpu-scaler.dev/released-by": "x"})),
        (WAKE, a_workload(active=True, annotations=RELEASED)),
        (WAKE, a_workload(annotations=RELEASED)),
    ],
    ids=["already", "another", "not ours", "another's", "awake", "awake by default"],
)
def test_a_workload_that_is_not_as_thought_is_left_alone(step: Step, document: Document) -> None:
    """Kueue deactivates too, and another Workload may have the name."""
    with pytest.raises(PatchFailedError):
        done(step, document)


def test_a_notebook_is_stopped_with_its_mark() -> None:
    """By the annotation's presence; its value says since when."""
    held = replace(SCALE, status=WorkerScaleStatus(hold=HOLD))
    (request,) = requests(held, STOP, {})
    assert request.path == "/apis/kubeflow.org/v1/namespaces/ml/notebooks/n"
    stopped: Any = merged({"metadata": {}}, json.loads(request.body))
    assert stopped["metadata"]["annotations"] == {
        **MARKED,
        "kubeflow-resource-stopped": "2026-03-01T10:00:00Z",
    }
    given = done(replace(STOP, stop=False), stopped)
    assert given["metadata"]["annotations"] == {}
    assert done(STOP, {})["metadata"]["annotations"]["kubeflow-resource-stopped"]


def test_others_finalizers_stay() -> None:
    """A list is written whole, so they are written with ours."""
    document = scale_document()
    document["metadata"]["finalizers"] = ["foregroundDeletion"]
    both = ["foregroundDeletion", "kueue-gpu-scaler.dev/restore"]
    for present, want in ((True, both), (False, ["foregroundDeletion"])):
        (request,) = requests(a_scale(document), SetFinalizer(present=present), {})
        document = json.loads(json.dumps(merged(document, json.loads(request.body))))
        assert document["metadata"]["finalizers"] == want
