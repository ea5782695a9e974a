"""Read the lines of a watch."""

from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from scaler.core.model import Kind
from scaler.kube.decode import decode_one
from scaler.kube.forms import Key, Record
from scaler.kube.resources import KINDS


class LineError(ValueError):
    """A line is no watch event: cut off, or of an unknown type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An object was added or modified."""

    key: Key
    version: str
    record: Record | None
    """None where the object is malformed, or none of those that are kept."""
    problem: str | None = None
    """What is wrong with a malformed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """An object is gone."""

    key: Key
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Nothing changed up to this version."""

    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The server ends the watch with a Status."""

    code: int
    message: str


WatchEvent: TypeAlias = Seen | Removed | Bookmark | Refusal


class _Line(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Header(msgspec.Struct, gc=False):
    metadata: _Meta


class _Status(msgspec.Struct, gc=False):
    code: int = 0
    message: str = ""


_line = msgspec.json.Decoder(_Line)
_header = msgspec.json.Decoder(_Header)
_status = msgspec.json.Decoder(_Status)


def read_event(kind: Kind, line: bytes) -> WatchEvent:
    """Read one line.

    Raises:
        LineError: no event, or one whose object has no name.
    """
    try:
        event = _line.decode(line)
        if event.type == "ERROR":
            status = _status.decode(event.object)
            return Refusal(code=status.code, message=status.message)
        meta = _header.decode(event.object).metadata
    except (ValueError, RecursionError) as error:
        raise LineError(str(error)) from error
    if event.type == "BOOKMARK":
        return Bookmark(version=meta.resource_version)
    if not meta.name:
        raise LineError(f"a {event.type} event without a name")
    key: Key = (meta.namespace, meta.name) if KINDS[kind].namespaced else meta.name
    match event.type:
        case "ADDED" | "MODIFIED":
            return _seen(kind, key, meta.resource_version, event.object)
        case "DELETED":
            return Removed(key=key, version=meta.resource_version)
        case _:
            raise LineError(f"unknown event type {event.type[:40]!r}")


def _seen(kind: Kind, key: Key, version: str, raw: msgspec.Raw) -> Seen:
    try:
        return Seen(key=key, version=version, record=decode_one(kind, raw))
    except ValueError as error:
        return Seen(key=key, version=version, record=None, problem=str(error))


def goes_back(version: str, *, known: str) -> bool:
    """Say whether a version is older than one that is known.

    A watch never brings such a one, unless the server was restored from a backup: what happened
    before that is not what this server knows. Versions that are no numbers tell nothing.
    """
    return version.isdecimal() and known.isdecimal() and int(version) < int(known)
