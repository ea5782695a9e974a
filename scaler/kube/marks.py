"""What is written on objects that workers were taken from, read back and encoded alike."""

from collections.abc import Mapping
from typing import Final

import msgspec

from scaler.core.model import Mark
from scaler.kube.structs import NOTHING

PREFIX: Final = "held.kueue-gpu-scaler.dev"
"""Annotation `PREFIX/COMPONENT`, the component in lower case, holds a Mark as JSON."""
RELEASED_BY: Final = "kueue-gpu-scaler.dev/released-by"
"""On a Workload: the WorkerScale that set spec.active to false."""
STOPPED: Final = "kubeflow-resource-stopped"
"""On a Notebook: it has no pod while the annotation is there, whatever it says."""

_HINT = PREFIX.encode()
_MALFORMED = (ValueError, RecursionError)


class _Written(msgspec.Struct):
    by: str
    uid: str
    was: str


_texts = msgspec.json.Decoder(dict[str, str])
_written = msgspec.json.Decoder(_Written)


def annotation(mark: Mark) -> str:
    """Give the name of a mark's annotation."""
    return f"{PREFIX}/{mark.component.lower()}"


def text(mark: Mark) -> str:
    """Give the value of a mark's annotation."""
    return msgspec.json.encode(_Written(by=mark.by, uid=mark.uid, was=mark.was)).decode()


def marks(annotations: msgspec.Raw) -> tuple[Mark, ...]:
    """Read the marks among an object's annotations, sorted by component.

    One whose value is malformed is no mark: nobody knows what was there before.
    """
    if _HINT not in bytes(annotations):
        return ()
    found = (_mark(name, value) for name, value in sorted(_decoded(annotations).items()))
    return tuple(mark for mark in found if mark is not None)


def kept(annotations: msgspec.Raw) -> msgspec.Raw:
    """Give the annotations that are read, of all that an object has."""
    some = {
        name: value
        for name, value in _decoded(annotations).items()
        if name == STOPPED or name.startswith(f"{PREFIX}/")
    }
    return msgspec.Raw(msgspec.json.encode(some)) if some else NOTHING


def stopped(annotations: msgspec.Raw) -> str | None:
    """Read a Notebook's annotation kubeflow-resource-stopped."""
    return _decoded(annotations).get(STOPPED)


def _decoded(annotations: msgspec.Raw) -> Mapping[str, str]:
    try:
        return _texts.decode(annotations)
    except _MALFORMED:
        return {}


def _mark(name: str, value: str) -> Mark | None:
    prefix, _, component = name.partition("/")
    if prefix != PREFIX:
        return None
    try:
        written = _written.decode(value)
    except _MALFORMED:
        return None
    return Mark(component=component, by=written.by, uid=written.uid, was=written.was)
