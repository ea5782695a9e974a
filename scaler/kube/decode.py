"""Decode API answers and files into records: the door behind which no JSON is seen.

A malformed object is skipped and named; the others still count. Nothing here raises but
`PageError`, and `decode` not even that.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from scaler.core.model import Kind
from scaler.kube.forms import FORMS, Key, ListMeta, Record
from scaler.kube.resources import KINDS, Resource
from scaler.kube.structs import Wire

_MALFORMED = (ValueError, OverflowError, RecursionError)
"""What decoding raises on bad input: msgspec's errors are ValueErrors."""


class PageError(ValueError):
    """The bytes are no JSON document of the expected outline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Objects as records."""

    records: tuple[Record, ...]
    skipped: int
    """Objects that were malformed."""
    problems: tuple[str, ...] = ()
    """One sentence for each skipped object: its name and what is wrong with it."""
    malformed: tuple[Key | None, ...] = ()
    """Their keys, in the same order; None where not even the name can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Decoded):
    """One page of a list."""

    version: str
    """resourceVersion of the list."""
    next_page: str = ""
    """The continue token; empty on the last page."""


class _Outline(Wire):
    """A List whose items are looked at one by one, or a single object."""

    metadata: ListMeta | None = None
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _Named(Wire):
    name: str = ""
    namespace: str = ""


class _Header(Wire):
    """Enough of any object to name it."""

    metadata: _Named = msgspec.field(default_factory=_Named)
    kind: str = ""


_outline = msgspec.json.Decoder(_Outline)
_header = msgspec.json.Decoder(_Header)


def decode(kind: Kind, raw: bytes) -> Decoded:
    """Decode the JSON of one object or of a List, in any API version; never raises."""
    try:
        outline = _outline.decode(raw)
    except _MALFORMED as error:
        return _nothing(f"{kind}: {_said(error)}")
    if outline.items is not None:
        return _one_by_one(kind, outline.items, strict=True)
    if outline.kind.endswith("List"):
        return _nothing(f"{kind}: a {outline.kind} without items; an empty one has `items: []`")
    return _one_by_one(kind, [raw], strict=True)


def decode_page(kind: Kind, raw: bytes) -> Page:
    """Decode one page of the API's answer to a list.

    Raises:
        PageError: no list came back.
    """
    form = FORMS[kind]
    try:
        page = form.page.decode(raw)
        decoded = Decoded(records=form.records(page.items or ()), skipped=0)
    except _MALFORMED:
        page = _outline_of(raw)
        decoded = _one_by_one(kind, page.items or (), strict=False)
    meta = page.metadata
    if not page.kind.endswith("List") or meta is None or not meta.resource_version:
        raise PageError(f"no List with a resourceVersion: a {page.kind or 'thing without kind'}")
    return Page(
        records=decoded.records,
        skipped=decoded.skipped,
        problems=decoded.problems,
        malformed=decoded.malformed,
        version=meta.resource_version,
        next_page=meta.next_page,
    )


def decode_one(kind: Kind, raw: bytes | msgspec.Raw) -> Record | None:
    """Decode one object; None where the kind keeps only some and this is none of them.

    Raises:
        ValueError: the object is malformed; the sentence says where.
    """
    form = FORMS[kind]
    try:
        return form.record(form.one.decode(raw))
    except _MALFORMED as error:
        raise ValueError(_said(error)) from error


def key_of(kind: Kind, raw: bytes | msgspec.Raw) -> Key | None:
    """Read the key of an object that may be malformed otherwise; None without a name."""
    try:
        meta = _header.decode(raw).metadata
    except _MALFORMED:
        return None
    if not meta.name:
        return None
    return (meta.namespace, meta.name) if KINDS[kind].namespaced else meta.name


def label_of(kind: Kind, key: Key | None) -> str:
    """Name an object for a log line or a problem."""
    match key:
        case None:
            return f"{kind} (unnamed)"
        case str():
            return f"{kind} {key}"
        case (namespace, name):
            return f"{kind} {namespace}/{name}"


def _nothing(problem: str) -> Decoded:
    return Decoded(records=(), skipped=1, problems=(problem,), malformed=(None,))


def _outline_of(raw: bytes) -> _Outline:
    try:
        return _outline.decode(raw)
    except _MALFORMED as error:
        raise PageError(_said(error)) from error


def _one_by_one(kind: Kind, items: Iterable[bytes | msgspec.Raw], *, strict: bool) -> Decoded:
    records: list[Record] = []
    problems: list[str] = []
    malformed: list[Key | None] = []
    for raw in items:
        try:
            if strict:
                _check_kind(KINDS[kind], raw)
            record = decode_one(kind, raw)
        except _MALFORMED as error:
            malformed.append(key_of(kind, raw))
            problems.append(f"{label_of(kind, malformed[-1])}: {_said(error)}")
            continue
        if record is not None:
            records.append(record)
    return Decoded(
        records=tuple(records),
        skipped=len(malformed),
        problems=tuple(problems),
        malformed=tuple(malformed),
    )


def _check_kind(resource: Resource, raw: bytes | msgspec.Raw) -> None:
    """A file may hold anything; an API path does not."""
    found = _header.decode(raw).kind
    allowed = (resource.object_kind, "PartialObjectMetadata")
    if found and found not in allowed:
        raise ValueError(f"kind {found!r} is not {resource.object_kind!r}")


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
