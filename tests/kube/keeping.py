"""A sink that keeps what it is told, as the observer does."""

import threading
from collections.abc import Callable, Sequence

from scaler.core.model import Hpa, Kind, SourceState, Workload
from scaler.kube.forms import Key, Record
from tests.kube.apiserver import PATIENCE


class KeepingSink:
    """Records by key, and every state; a condition lets a test wait for either."""

    def __init__(self) -> None:
        self.records: dict[Key, Record] = {}
        self.lists = 0
        self.states: list[SourceState] = []
        self.skipped = 0
        self._changed = threading.Condition()

    def listed(self, kind: Kind, records: Sequence[Record], skipped: int) -> None:  # noqa: ARG002  # the protocol has it
        """Take a complete list."""
        with self._changed:
            self.records = {key_of_record(record): record for record in records}
            self.lists += 1
            self.skipped = skipped
            self._changed.notify_all()

    def changed(self, kind: Kind, record: Record) -> None:  # noqa: ARG002  # same
        """Take one object."""
        with self._changed:
            self.records[key_of_record(record)] = record
            self._changed.notify_all()

    def deleted(self, kind: Kind, key: Key) -> None:  # noqa: ARG002  # same
        """Take that one is gone."""
        with self._changed:
            self.records.pop(key, None)
            self._changed.notify_all()

    def state(self, kind: Kind, state: SourceState) -> None:  # noqa: ARG002  # same
        """Take a state."""
        with self._changed:
            self.states.append(state)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        with self._changed:
            assert self._changed.wait_for(condition, timeout=PATIENCE), "it never came true"

    def now(self) -> SourceState:
        """Give the newest state."""
        return self.states[-1]

    @property
    def names(self) -> set[str]:
        """Give the names of what is there."""
        return {key if isinstance(key, str) else key[1] for key in self.records}


def key_of_record(record: Record) -> Key:
    """Give a record's key."""
    match record:
        case Workload(namespace=namespace, name=name) | Hpa(namespace=namespace, name=name):
            return (namespace, name)
        case _:
            return record.name
