"""Write each step of a plan as the API requests that do it.

A step has more than one where the API server can't say in one what is meant: JSON patch adds
nothing under a map that is not there. They exclude each other by their tests, so that at most one
of them is taken.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import msgspec

from scaler.core.hold.steps import (
    FINALIZER,
    DropMark,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import Kind, Mark, Name, WorkerScale
from scaler.core.quantity import format_instant
from scaler.kube import marks, scale_status
from scaler.kube.api import JSON_PATCH, MERGE_PATCH
from scaler.kube.resources import KINDS

Versions: TypeAlias = Mapping[Kind, str]
"""The version in which each kind is written; where it says none, the table's first."""
Operation: TypeAlias = Mapping[str, object]

_ANNOTATIONS = "/metadata/annotations"
_UID = "/metadata/uid"
_BY_HAND = "kueue-gpu-scaler"
_WORKLOAD = "Workload"
_KINDS = {
    "RayCluster": Kind.RAY_CLUSTERS,
    "Job": Kind.JOBS,
    "Notebook": Kind.NOTEBOOKS,
    _WORKLOAD: Kind.WORKLOADS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API server."""

    method: str
    path: str
    content_type: str
    body: bytes


def requests(scale: WorkerScale, step: Step, versions: Versions) -> tuple[Request, ...]:
    """Give the requests of a step, to be tried in this order while the answer is 422."""
    kind = kind_written(step)
    match step:
        case SetGroup():
            path = path_of(kind, step.cluster, versions)
            return tuple(_json(path, each) for each in _group(step))
        case SetActive():
            path = path_of(kind, step.workload, versions)
            return tuple(_json(path, each) for each in _active(step))
        case DropMark():
            path = path_of(kind, step.object, versions)
            return (_json(path, _dropped(step)),)
        case SetParallelism():
            path = path_of(kind, step.job, versions)
            return (_merge(path, _parallelism(step)),)
        case SetNotebook():
            path = path_of(kind, step.notebook, versions)
            return (_merge(path, _notebook(step, scale)),)
        case SetReplicas() | SetFinalizer() | WriteStatus():
            return (_own(scale, step, path_of(kind, scale.key, versions)),)
        case _:
            assert_never(step)


def kind_written(step: Step) -> Kind:
    """Give the kind of the object that a step writes."""
    match step:
        case SetGroup():
            return Kind.RAY_CLUSTERS
        case SetParallelism():
            return Kind.JOBS
        case DropMark():
            return _KINDS[step.kind]
        case SetActive():
            return Kind.WORKLOADS
        case SetNotebook():
            return Kind.NOTEBOOKS
        case SetReplicas() | SetFinalizer() | WriteStatus():
            return Kind.WORKER_SCALES
        case _:
            assert_never(step)


def path_of(kind: Kind, name: Name, versions: Versions) -> str:
    """Give the path of a namespaced object."""
    resource = KINDS[kind]
    version = versions.get(kind, resource.versions[0])
    return f"/apis/{resource.group}/{version}/namespaces/{name[0]}/{resource.plural}/{name[1]}"


# --- JSON patches ------------------------------------------------------------------------------


def _group(step: SetGroup) -> Iterator[list[Operation]]:
    place = f"/spec/workerGroupSpecs/{step.index}"
    same = (_test(_UID, step.uid), _test(f"{place}/groupName", step.group))
    mark = marks.annotation(step.mark)
    if step.suspend:
        taken = _add(f"{place}/suspend", value=True)
        for annotate in _annotate(mark, marks.text(step.mark)):
            yield [*same, *annotate, taken]
        return
    # Without the mark its removal fails, and with it the whole patch.
    yield [*same, _remove(_pointer(mark)), _as_it_was(f"{place}/suspend", step.mark.was)]


def _active(step: SetActive) -> Iterator[list[Operation]]:
    same = _test(_UID, step.uid)
    switch = _add("/spec/active", value=step.active)
    mark = _pointer(marks.RELEASED_BY)
    if step.active:
        ours = _test(mark, step.by)
        yield [same, _test("/spec/active", value=False), ours, _remove(mark), switch]
        return
    for before in (True, None):  # absent is active too
        for annotate in _annotate(marks.RELEASED_BY, step.by):
            yield [same, _test("/spec/active", value=before), *annotate, switch]


def _dropped(step: DropMark) -> list[Operation]:
    if step.kind != _WORKLOAD:
        return [_remove(_pointer(marks.annotation(step.mark)))]
    mark = _pointer(marks.RELEASED_BY)
    return [_test(mark, step.mark.by), _remove(mark)]


def _annotate(name: str, value: str) -> Iterator[list[Operation]]:
    """Add an annotation: to those that are there, or as the first."""
    yield [_add(_pointer(name), value=value)]
    # Kubernetes takes a test for null as one for absence.
    yield [_test(_ANNOTATIONS, value=None), _add(_ANNOTATIONS, value={name: value})]


def _as_it_was(path: str, was: str) -> Operation:
    """Set a flag to `true` or `false`, or take it away where there was none (empty)."""
    return _add(path, value=was == "true") if was else _remove(path)


def _pointer(annotation: str) -> str:
    escaped = annotation.replace("~", "~0").replace("/", "~1")
    return f"{_ANNOTATIONS}/{escaped}"


def _test(path: str, value: object) -> Operation:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


# --- merge patches -----------------------------------------------------------------------------


def _parallelism(step: SetParallelism) -> Mapping[str, object]:
    return {
        "metadata": {
            "resourceVersion": step.resource_version,
            "annotations": _marked(step.mark, there=step.taking),
        },
        "spec": {"parallelism": step.parallelism},
    }


def _notebook(step: SetNotebook, scale: WorkerScale) -> Mapping[str, object]:
    hold = scale.status.hold
    since = _BY_HAND if hold is None else format_instant(int(hold.since))
    value = since if step.stop else None  # any value stops it
    annotations = {**_marked(step.mark, there=step.stop), marks.STOPPED: value}
    return {"metadata": {"resourceVersion": step.resource_version, "annotations": annotations}}


def _marked(mark: Mark, *, there: bool) -> Mapping[str, str | None]:
    return {marks.annotation(mark): marks.text(mark) if there else None}


def _own(scale: WorkerScale, step: SetReplicas | SetFinalizer | WriteStatus, path: str) -> Request:
    metadata: dict[str, object] = {"resourceVersion": scale.resource_version}
    match step:
        case SetReplicas():
            return _merge(path, {"metadata": metadata, "spec": {"replicas": step.replicas}})
        case SetFinalizer():
            others = [each for each in scale.finalizers if each != FINALIZER]
            metadata["finalizers"] = [*others, FINALIZER] if step.present else others
            return _merge(path, {"metadata": metadata})
        case WriteStatus():
            news = scale_status.patch(before=scale.status, after=step.status)
            return _merge(f"{path}/status", {"metadata": metadata, "status": news})


# --- requests ----------------------------------------------------------------------------------


def _json(path: str, operations: list[Operation]) -> Request:
    return _patch(path, JSON_PATCH, operations)


def _merge(path: str, news: Mapping[str, object]) -> Request:
    return _patch(path, MERGE_PATCH, news)


def _patch(path: str, content_type: str, document: object) -> Request:
    return Request(
        method="PATCH",
        path=path,
        content_type=content_type,
        body=msgspec.json.encode(document),
    )
