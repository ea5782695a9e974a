"""The store of samples: order, and appending while it is asked."""

import threading

import pytest

from scaler.sim.promql import evaluate
from scaler.sim.samples import OutOfOrderError, SampleStore


def test_a_series_takes_no_sample_that_is_not_newer() -> None:
    """A series takes no sample that is not newer."""
    store = SampleStore()
    store.append("m", {"a": "1"}, at=10.0, value=1.0)
    store.append("m", {"a": "2"}, at=5.0, value=1.0)
    for at in (10.0, 9.0):
        with pytest.raises(OutOfOrderError, match="newest is 10000"):
            store.append("m", {"a": "1"}, at=at, value=2.0)


def test_an_empty_label_is_no_label() -> None:
    """An empty label is no label."""
    store = SampleStore()
    store.append("m", {"a": ""}, at=1.0, value=1.0)
    assert evaluate(store, "m", 1.0) == [((("__name__", "m"),), 1.0)]


def test_evaluation_goes_on_while_samples_come() -> None:
    """Evaluation goes on while samples come."""
    store = SampleStore()
    done = threading.Event()

    def write() -> None:
        for number in range(20_000):
            store.append("m", {"a": str(number % 50)}, at=number / 1000, value=float(number))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    asked = 0
    while not done.is_set() or not asked:
        found = evaluate(store, "count(count_over_time(m[1m]))", 60.0)
        assert isinstance(found, list)
        asked += 1
    thread.join()
    assert evaluate(store, "sum(count_over_time(m[1m]))", 59.0) == [((), 20_000.0)]
