"""Remember what was derived from parts of a Snapshot, as long as those parts are the same."""

from collections.abc import Callable, Hashable
from typing import Final, TypeVar, cast

T = TypeVar("T")

_MOST: Final = 16384
"""Entries; beyond it all are forgotten, which costs time and never an answer."""


class Memo:
    """Keep one value per key, with the parts that it was built from.

    Parts are compared by identity: records and mappings of a Snapshot are never written, so the
    same objects give the same value. One value a key, so what is replaced is let go.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[tuple[object, ...], object]] = {}

    def recall(
        self,
        key: Hashable,
        parts: tuple[object, ...],
        build: Callable[[], T],
        *,
        valid: Callable[[T], bool] | None = None,
    ) -> T:
        """Give the value kept under the key, or build it where a part changed or `valid` says no.

        A key always belongs to values of one type.
        """
        kept = self._kept.get(key)
        if kept is not None and _same(kept[0], parts):
            value = cast("T", kept[1])
            if valid is None or valid(value):
                return value
        fresh = build()
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key] = (parts, fresh)
        return fresh

    def stable(self, key: Hashable, value: T) -> T:
        """Give the equal value that was kept before, so that it is the same part again."""
        kept = self._kept.get(key)
        if kept is not None and kept[1] == value:
            return kept[1]
        self._kept[key] = ((), value)
        return value


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
