"""A mapping that can be copied cheaply after a small change."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

SHARDS = 256
"""100,000 entries make shards of 400: a change copies one of them, not all."""


class ShardedMapping(Mapping[K, V], Generic[K, V]):
    """Read entries that a `Sharded` froze."""

    __slots__ = ("_shards",)

    def __init__(self, shards: tuple[Mapping[K, V], ...]) -> None:
        self._shards = shards

    def __getitem__(self, key: K) -> V:
        return self._shards[hash(key) % SHARDS][key]

    def __iter__(self) -> Iterator[K]:
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        return sum(len(shard) for shard in self._shards)


class Sharded(Generic[K, V]):
    """Write entries, and freeze them as often as needed; owned by one thread."""

    def __init__(self) -> None:
        self._shards: list[dict[K, V]] = [{} for _ in range(SHARDS)]
        self._frozen: ShardedMapping[K, V] | None = None
        self._shared = [False] * SHARDS

    def _own(self, index: int) -> None:
        """Copy a shard that readers hold."""
        self._shards[index] = dict(self._shards[index])
        self._shared[index] = False

    def get(self, key: K) -> V | None:
        """Give the entry, None where there is none."""
        return self._shards[hash(key) % SHARDS].get(key)

    def put(self, key: K, value: V) -> None:
        """Set an entry."""
        index = hash(key) % SHARDS
        if self._shared[index]:
            self._own(index)
        self._shards[index][key] = value
        self._frozen = None

    def drop(self, key: K) -> None:
        """Remove an entry, if it is there."""
        index = hash(key) % SHARDS
        if key in self._shards[index]:
            if self._shared[index]:
                self._own(index)
            del self._shards[index][key]
            self._frozen = None

    def freeze(self) -> ShardedMapping[K, V]:
        """Give the entries of this moment; later writes copy what they change."""
        if self._frozen is None:
            self._shared = [True] * SHARDS
            self._frozen = ShardedMapping(tuple(self._shards))
        return self._frozen
