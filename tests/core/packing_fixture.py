"""Pods and nodes for packing, on nodes of 8 GPUs and 188 cpus."""

from scaler.core.nodes.packing import Item, Space
from tests.builders import amounts, make_shape

NODE = amounts({"cpu": 188_000}, gpu=8)
RACK = "topology.example.com/rack"


def gpu_pods(gpus: int, count: int = 1) -> Item:
    """Build GPU-only pods."""
    return Item(shape=make_shape(gpus=gpus), count=count)


def space(gpus: int = 8, *, count: int = 1, **labels: str) -> Space:
    """Build what usable nodes still offer; a whole node is idle."""
    return Space(
        free=amounts({"cpu": 188_000}, gpu=gpus), labels=labels, idle=gpus == 8, count=count
    )


def rack(name: str, gpus: int, *, count: int = 1) -> Space:
    """Build usable nodes of a rack."""
    return Space(free=amounts(gpu=gpus), labels={RACK: name}, count=count)


def together(gpus: int, pods: int, *, sets: int = 1, level: str = RACK) -> Item:
    """Build sets of pods that need one domain each."""
    return Item(shape=make_shape(gpus=gpus), count=pods * sets, level=level, together=pods)
