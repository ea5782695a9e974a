"""Keep one kind's records for the observer's thread, and show them to others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(Generic[K, V]):
    """Keep one kind's records; copied for readers only when they look after a change."""

    def __init__(self) -> None:
        self._rows: dict[K, V] = {}
        self._frozen: Mapping[K, V] | None = None

    def replace(self, rows: Mapping[K, V]) -> None:
        """Take a complete list."""
        self._rows = dict(rows)
        self._frozen = None

    def put(self, key: K, row: V | None) -> bool:
        """Set a record, or with None forget it; say whether that changed anything."""
        if self._rows.get(key) == row:
            return False
        if row is None:
            del self._rows[key]
        else:
            self._rows[key] = row
        self._frozen = None
        return True

    def get(self, key: K) -> V | None:
        """Give a record, None where there is none."""
        return self._rows.get(key)

    @property
    def rows(self) -> Mapping[K, V]:
        """Give the records of this moment."""
        if self._frozen is None:
            self._frozen = MappingProxyType(dict(self._rows))
        return self._frozen
