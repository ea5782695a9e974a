"""Packing alone: many pods of many shapes onto a pool that is partly in use."""

import time
from collections.abc import Iterator

from benchmarks.figures import Figure
from scaler.core.model import Amounts, PodShape
from scaler.core.nodes.packing import Item, Space, pack

GIB = 1 << 30
NODE: Amounts = (("cpu", 188_000), ("memory", 1900 * GIB), ("nvidia.com/gpu", 8), ("pods", 110))


def measure(
    *, pods: int = 10_000, shapes: int = 50, nodes: int = 500, rounds: int = 15
) -> Iterator[Figure]:
    """Pack as often as `rounds` says; the quickest round is the least disturbed one."""
    items, spaces = _items(pods, shapes), _spaces(nodes)
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        packed = pack(items, spaces, node=NODE, max_new=pods)
        spent.append(time.perf_counter() - began)
    if packed.placed + packed.on_new != pods:
        raise RuntimeError(f"not every pod has a place: {packed}")
    name = f"packing {pods:,} pods of {shapes} shapes onto {nodes} nodes"
    yield Figure(name=name, value=min(spent) * 1e3, unit="ms", goal=50)


def _items(pods: int, shapes: int) -> list[Item]:
    """Give pods of 1 to 8 GPUs with cpu and memory to match, no two shapes alike."""
    return [
        Item(shape=_shape(number), count=pods // shapes + (number < pods % shapes))
        for number in range(shapes)
    ]


def _shape(number: int) -> PodShape:
    gpus = (1, 2, 4, 8)[number % 4]
    cpus = gpus * (6 + number // 4) + number % 3
    return PodShape(
        requests=(
            ("cpu", cpus * 1_000),
            ("memory", cpus * (4 + number % 5) * GIB),
            ("nvidia.com/gpu", gpus),
        )
    )


def _spaces(nodes: int) -> list[Space]:
    """Give nodes of which two in three hold work: some GPUs and odd amounts of cpu and memory."""
    return [_space(number) for number in range(nodes)]


def _space(number: int) -> Space:
    used = (0, 3 + number % 5, 1 + number % 7)[number % 3]
    free: Amounts = (
        ("cpu", 188_000 - used * 9_500),
        ("memory", (1900 - used * 61) * GIB),
        ("nvidia.com/gpu", 8 - used),
        ("pods", 110 - used),
    )
    return Space(
        free=tuple(pair for pair in free if pair[1]),
        labels={"kubernetes.io/hostname": f"gpu-{number:03}"},
        idle=used == 0,
    )
