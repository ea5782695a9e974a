"""What sources and watchers tell the observer's thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeAlias

from scaler.core.model import Kind, SourceState
from scaler.core.usage import QueryAnswer, QueryKey, Usage, UsageKey
from scaler.kube.forms import Key, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A kind was listed completely; what is not in the list is gone."""

    kind: Kind
    records: Sequence[Record]
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One object was added or modified."""

    kind: Kind
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """One object is gone, or no longer of interest."""

    kind: Kind
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChanged:
    """A kind's source has another state; `skipped` counts objects that could not be decoded."""

    kind: Kind
    state: SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRead:
    """Prometheus was asked; what is not in here any more is not wanted any more."""

    usage: Mapping[UsageKey, Usage]
    answers: Mapping[QueryKey, QueryAnswer]


Change: TypeAlias = Listed | Changed | Deleted | SourceChanged | UsageRead


class Wake:
    """Ask the observer to look around although nothing changed."""


class Inbox:
    """Hand changes over from any thread to the observer's; the sink that reflectors write to."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Change | Wake] = SimpleQueue()

    @property
    def queue(self) -> "SimpleQueue[Change | Wake]":
        """Give the queue to read from; the observer alone does."""
        return self._queue

    def listed(self, kind: Kind, records: Sequence[Record], skipped: int) -> None:
        """Take a complete list."""
        self._queue.put(Listed(kind=kind, records=records, skipped=skipped))

    def changed(self, kind: Kind, record: Record) -> None:
        """Take an added or modified object."""
        self._queue.put(Changed(kind=kind, record=record))

    def deleted(self, kind: Kind, key: Key) -> None:
        """Take a deletion."""
        self._queue.put(Deleted(kind=kind, key=key))

    def state(self, kind: Kind, state: SourceState) -> None:
        """Take a source's state."""
        self._queue.put(SourceChanged(kind=kind, state=state))

    def usage(
        self, usage: Mapping[UsageKey, Usage], answers: Mapping[QueryKey, QueryAnswer]
    ) -> None:
        """Take what Prometheus said."""
        self._queue.put(UsageRead(usage=usage, answers=answers))

    def wake(self) -> None:
        """Make the observer look at once."""
        self._queue.put(Wake())
