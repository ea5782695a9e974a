"""Copy listed objects with only the fields that are read: no Secret, no env value is among them."""

import json

import msgspec

from scaler.core.model import Kind
from scaler.kube.decode import decode_page, key_of
from scaler.kube.forms import FORMS, Form
from scaler.kube.marks import kept
from scaler.kube.resources import KINDS
from scaler.kube.structs import Wire
from scaler.kube.structs_core import WireScaledObject, WireTrigger
from scaler.kube.structs_hold import WireOwned

_MALFORMED = (ValueError, OverflowError, RecursionError)


class _Items(Wire):
    items: list[msgspec.Raw] | None = None


_items = msgspec.json.Decoder(_Items)


def copy_page(kind: Kind, *, version: str, raw: bytes) -> list[bytes]:
    """Give each object of a page as JSON of an object in its apiVersion.

    Objects of which no record is kept are left out. One that is malformed keeps its name, and is
    malformed in the copy too, so that it counts as skipped there.

    Raises:
        PageError: the bytes are no list.
    """
    decode_page(kind, raw)
    head = {"apiVersion": version, "kind": KINDS[kind].object_kind}
    items = _items.decode(raw).items or ()
    copies = (_copy(kind, form=FORMS[kind], head=head, raw=item) for item in items)
    return [copy for copy in copies if copy is not None]


def _copy(kind: Kind, *, form: Form, head: dict[str, str], raw: msgspec.Raw) -> bytes | None:
    try:
        wire = form.one.decode(raw)
        if form.record(wire) is None:
            return None
    except _MALFORMED as error:
        return _stub(kind, head=head, raw=raw, problem=str(error) or type(error).__name__)
    if isinstance(wire, WireOwned):
        wire.kind = ""
        wire.metadata.annotations = kept(wire.metadata.annotations)
    if isinstance(wire, WireScaledObject):
        wire.spec.triggers = [_trigger(each) for each in wire.spec.triggers or ()]
    return msgspec.json.encode(head)[:-1] + b"," + msgspec.json.encode(wire)[1:]


def _trigger(trigger: WireTrigger) -> WireTrigger:
    """Keep another scaler's trigger without its metadata, which may hold a password."""
    if trigger.type.startswith("external") and "signal" in (trigger.metadata or {}):
        return trigger
    return WireTrigger(type=trigger.type)


def _stub(kind: Kind, *, head: dict[str, str], raw: msgspec.Raw, problem: str) -> bytes:
    key = key_of(kind, raw)
    namespace, name = key if isinstance(key, tuple) else ("", key or "")
    # A uid is text: an object in its place is what makes the copy malformed.
    uid = {"malformed": problem}
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return json.dumps({**head, "metadata": metadata}).encode()
