"""Bins: equal nodes split as they fill."""

import pytest

from scaler.core.nodes.bins import UNLIMITED, Bin, Bins, Free, Stage, fits


def _bin(*free: int, nodes: int = 1, idle: bool = True, sort: int = 0) -> Bin:
    return Bin(stage=Stage.USABLE, idle=idle, free=free, sort=sort, nodes=nodes)


def _bins(*there: Bin, fresh: int = 0) -> Bins:
    new = Bin(stage=Stage.NEW, idle=True, free=(8, UNLIMITED), sort=0, nodes=fresh)
    return Bins(there=list(there), fresh=new)


@pytest.mark.parametrize(
    ("free", "want"),
    [
        pytest.param((8, 10), 4, id="the scarcer resource decides"),
        pytest.param((8, 2), 2, id="whichever it is"),
        pytest.param((1, 10), 0, id="nothing fits where one resource lacks"),
    ],
)
def test_fits(free: Free, want: int) -> None:
    """What is asked fits as often as its scarcest resource allows."""
    assert fits(free, ((0, 2), (1, 1))) == want


def test_equal_nodes_split() -> None:
    """Of equal nodes some get full, one partly, and the rest stay idle and as they were."""
    bins = _bins(_bin(8, 9, nodes=5))
    placed = bins.fill(((0, 3), (1, 1)), 5, [True])
    assert placed == {Stage.USABLE: 5}
    assert bins.there == [
        _bin(2, 7, nodes=2, idle=False),
        _bin(5, 8, nodes=1, idle=False),
        _bin(8, 9, nodes=2),
    ]


def test_full_nodes_keep_what_nobody_may_use() -> None:
    """A node whose sort is not allowed stays as it was."""
    bins = _bins(_bin(8, 9, sort=0), _bin(8, 9, sort=1))
    bins.fill(((0, 8),), 2, [False, True])
    assert bins.there == [_bin(8, 9, sort=0), _bin(0, 9, sort=1, idle=False)]


def test_new_nodes() -> None:
    """No more nodes are opened than allowed, and each opened one is there to be filled."""
    bins = _bins(fresh=2)
    assert bins.open(((0, 3),), 9) == 4
    assert (bins.opened, bins.fresh.nodes) == (2, 0)
    assert bins.fill(((0, 2),), 9, [True]) == {Stage.NEW: 2}


def test_rooms_are_counted_by_domain() -> None:
    """A domain has as much room as its nodes together; sorts without a domain have none."""
    bins = _bins(_bin(8, 9, nodes=2, sort=0), _bin(4, 9, sort=1), _bin(8, 9, sort=2))
    assert bins.rooms(((0, 3),), ["a", "a", None]) == {"a": 5}
