"""Each benchmark still runs, at a tiny size; `make bench` alone looks at what it measures."""

from collections.abc import Callable, Iterator

import pytest

from benchmarks import holding, objects, packing, polls, push, streams, sync
from benchmarks.figures import Figure, percentile
from benchmarks.objects import Fleet
from benchmarks.run import BENCHMARKS, main
from scaler.core.model import Kind, Workload
from scaler.core.reasons import WorkloadClass
from scaler.kube.decode import decode_one

FLEET = Fleet(workloads=60, queues=6)

SMALL: dict[str, Callable[[], Iterator[Figure]]] = {
    "packing": lambda: packing.measure(pods=40, shapes=8, nodes=6, rounds=1),
    "sync": lambda: sync.measure(workloads=60, queues=6),
    "polls": lambda: polls.measure(workloads=60, queues=6, polls=3),
    "push": lambda: push.measure(workloads=60, streams=6, events=3, pause=0),
    "streams": lambda: streams.measure(streams=6),
    "holding": lambda: holding.measure(scales=3, rest=3),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_and_finds_what_it_has_a_goal_for(name: str) -> None:
    """None is left behind when the product changes."""
    figures = list(SMALL[name]())
    assert [figure for figure in figures if figure.goal is not None] != []
    assert all(figure.value > 0 for figure in figures)


def test_every_benchmark_is_tried_here() -> None:
    """A new one has to be added above."""
    assert SMALL.keys() == BENCHMARKS.keys()


def test_an_unknown_name_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The answer to a slip is what could have been meant."""
    with pytest.raises(SystemExit):
        main(["packin"])
    assert "packing, sync, polls, push, streams, holding" in capsys.readouterr().err


def test_a_missed_goal_is_shown() -> None:
    """Shown, and no more: exit status and tests stay as they are."""
    met = Figure(name="a", value=1.0, unit="ms", goal=1)
    missed = Figure(name="a", value=1.1, unit="ms", goal=1)
    assert [str(figure).endswith("MISSED") for figure in (met, missed)] == [False, True]


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (75, 3.0), (99, 4.0), (0, 1.0)])
def test_a_percentile_is_one_of_the_values(percent: float, value: float) -> None:
    """Nothing is interpolated."""
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value


def test_workloads_are_as_large_as_promised_and_decode_whole() -> None:
    """Some hold all quota, the others wait for it: the targets of the benchmarks rest at zero."""
    raws = list(objects.workloads(FLEET))
    assert {round(len(raw), -2) for raw in raws} == {objects.WORKLOAD_BYTES}
    records = [decode_one(Kind.WORKLOADS, raw) for raw in raws]
    standings = [record.standing for record in records if isinstance(record, Workload)]
    assert standings.count(WorkloadClass.RUNNING) == len(raws) // 5
    assert standings.count(WorkloadClass.QUOTA) == len(raws) - len(raws) // 5


def test_the_event_of_a_push_is_a_workload_that_lacks_nodes() -> None:
    """It has quota, so its queue's target has to grow."""
    record = decode_one(Kind.WORKLOADS, objects.waiting_for_nodes(FLEET, queue=2))
    assert isinstance(record, Workload)
    assert record.standing is WorkloadClass.TOPOLOGY
    assert record.queue_name == "queue-0002"
