"""What is written on objects that workers were taken from."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Mark
from scaler.kube.marks import annotation, kept, marks, stopped, text

MARK = Mark(component="gpu", by="ws", uid="uid-ws", was="false")
COMPONENTS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
MARKS = st.builds(Mark, component=COMPONENTS, by=st.text(), uid=st.text(), was=st.text())


def raw(annotations: object) -> msgspec.Raw:
    """Write annotations as they stand in an object."""
    return msgspec.Raw(json.dumps(annotations).encode())


@given(found=st.lists(MARKS, unique_by=lambda mark: mark.component, max_size=4))
def test_marks_come_back_as_they_were_written(found: list[Mark]) -> None:
    """Law: of all components, in order, whatever else is annotated."""
    others = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "held.example.com/x": "{}"}
    annotations = {**others, **{annotation(mark): text(mark) for mark in found}}
    assert marks(raw(annotations)) == tuple(sorted(found, key=lambda mark: mark.component))


def test_a_mark_is_written_as_agreed() -> None:
    """People read it with kubectl."""
    assert annotation(MARK) == "held.kueue-gpu-scaler.dev/gpu"
    assert text(MARK) == '{"by":"ws","uid":"uid-ws","was":"false"}'


def test_the_component_is_in_lower_case() -> None:
    """As Kueue spells a podset of a worker group that is named with capitals."""
    mark = Mark(component="GpuGroup", by="ws", uid="u", was="false")
    assert annotation(mark) == "held.kueue-gpu-scaler.dev/gpugroup"


@pytest.mark.parametrize("value", ["", "{}", "[]", "held", '{"by":"ws","uid":"u"}', '{"by":1}'])
def test_a_malformed_mark_is_none(value: str) -> None:
    """The others still are."""
    annotations = {"held.kueue-gpu-scaler.dev/cpu": value, annotation(MARK): text(MARK)}
    assert marks(raw(annotations)) == (MARK,)


@pytest.mark.parametrize("annotations", [None, [], {"held.kueue-gpu-scaler.dev/gpu": 1}, "x"])
def test_what_are_no_annotations_has_no_marks(annotations: object) -> None:
    """Nothing is raised."""
    assert marks(raw(annotations)) == ()
    assert stopped(raw(annotations)) is None
    assert not bytes(kept(raw(annotations)))
    assert marks(msgspec.Raw()) == ()


def test_only_what_is_read_is_kept() -> None:
    """What somebody applied may hold a password."""
    ours = {annotation(MARK): text(MARK), "kubeflow-resource-stopped": "2026-03-01T10:00:00Z"}
    found = kept(raw({**ours, "kubectl.kubernetes.io/last-applied-configuration": "secret"}))
    assert json.loads(bytes(found)) == ours
    assert stopped(found) == "2026-03-01T10:00:00Z"
