"""Write Events: one for each object and subject, however many replicas tell of it."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import msgspec
import structlog

from scaler.core.model import Instant
from scaler.core.quantity import format_instant
from scaler.kube.api import MERGE_PATCH, Api, ApiError, NoAnswerError

_COMPONENT = "kueue-gpu-scaler"
_LONGEST_MESSAGE = 1024
"""The API server refuses longer ones."""
_LONGEST_NAME = 253
_MOST_COUNTS = 10_000
"""Kept in memory; ScaledObjects come and go, and their Events with them."""
_EXISTS = 409

_log = structlog.get_logger()


class Involved(Protocol):
    """The object that an Event is about."""

    @property
    def api_version(self) -> str:
        """Give its API version."""
        ...

    @property
    def kind(self) -> str:
        """Give its kind."""
        ...

    @property
    def namespace(self) -> str:
        """Give its namespace, where the Event is written too."""
        ...

    @property
    def name(self) -> str:
        """Give its name."""
        ...

    @property
    def uid(self) -> str:
        """Give its uid."""
        ...


class Told(Protocol):
    """What there is to tell."""

    @property
    def about(self) -> Involved:
        """Give what it is about."""
        ...

    @property
    def warning(self) -> bool:
        """Say whether it is more than news."""
        ...

    @property
    def reason(self) -> str:
        """Give the Event's reason, in CamelCase."""
        ...

    @property
    def message(self) -> str:
        """Give the sentence."""
        ...

    @property
    def subject(self) -> str:
        """Give what all replicas call it: the same subject makes the same Event."""
        ...

    @property
    def at(self) -> Instant:
        """Give when it happened."""
        ...


class _Count(msgspec.Struct):
    count: int | None = None


class EventWriter:
    """Creates Events, or counts those that are there; used by one thread.

    Replicas see the same things happen and each counts what it saw, so the larger count is
    written; after a restart counting goes on from what the Event says.
    """

    def __init__(self, api: Api, *, failed: Callable[[], object] = lambda: None) -> None:
        """Take the way in; `failed` is called for each Event that could not be written."""
        self._api = api
        self._counts: OrderedDict[str, int] = OrderedDict()
        """By Event name, as last written or read; the oldest are forgotten."""
        self._failing = False
        self._failed = failed

    def write(self, told: Told) -> bool:
        """Write one Event; a failure is logged once, never raised, and gives False."""
        try:
            self._write(told)
        except (ApiError, NoAnswerError) as error:
            if not self._failing:
                _log.warning("events can't be written", error=str(error), reason=told.reason)
            self._failing = True
            self._failed()
            return False
        self._failing = False
        return True

    def _write(self, told: Told) -> None:
        namespace, name = told.about.namespace, event_name(told)
        path = f"/api/v1/namespaces/{namespace}/events"
        try:
            self._api.send("POST", path, body=msgspec.json.encode(_event(told, name)))
        except ApiError as error:
            if error.status != _EXISTS:
                raise
            self._patch(told, name, f"{path}/{name}")
        else:
            self._note(name, 1)

    def _patch(self, told: Told, name: str, path: str) -> None:
        news: dict[str, object] = {
            "lastTimestamp": format_instant(int(told.at)),
            "message": told.message[:_LONGEST_MESSAGE],
        }
        counted = self._counts.get(name)
        if counted is not None:
            news["count"] = counted + 1
        answer = self._api.send(
            "PATCH", path, body=msgspec.json.encode(news), content_type=MERGE_PATCH
        )
        self._note(name, _count_of(answer))

    def _note(self, name: str, count: int) -> None:
        self._counts[name] = count
        self._counts.move_to_end(name)
        if len(self._counts) > _MOST_COUNTS:
            self._counts.popitem(last=False)


def event_name(told: Told) -> str:
    """Name the Event, alike in every replica."""
    subject = f"{told.about.uid}/{told.subject}"
    digest = hashlib.sha256(subject.encode()).hexdigest()[:16]
    # A cut must not end with a character that no part of a name may end with.
    return f"{told.about.name[: _LONGEST_NAME - 17].rstrip('-.')}.{digest}"


def _count_of(answer: bytes) -> int:
    try:
        return msgspec.json.decode(answer, type=_Count).count or 1
    except (ValueError, RecursionError):
        return 1


def _event(told: Told, name: str) -> dict[str, object]:
    about, at = told.about, format_instant(int(told.at))
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "reason": told.reason,
        "message": told.message[:_LONGEST_MESSAGE],
        "type": "Warning" if told.warning else "Normal",
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
