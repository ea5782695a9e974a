"""Prometheus is asked by a thread of its own: no reader waits, and nobody asks too often."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scaler.core.model import Instant
from scaler.core.policy import Policy, PrometheusSettings
from scaler.policyfile import PolicyState
from scaler.prometheus.series import Matrix, RawSeries
from scaler.prometheus.session import Connection, UnreachableError
from scaler.status.page.past import (
    FAILED_SECONDS,
    FRESH_SECONDS,
    LONGEST_SECONDS,
    MAX_WAITING,
    Found,
    Past,
    connect,
)
from scaler.store import Store
from tests.builders import NOW
from tests.status.page.stage import FakePrometheus

PATIENCE = 20.0
ONE = Matrix(series=(RawSeries(labels={}, points=((1000, 2.0),)),))


class Hung(FakePrometheus):
    """Answer nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.let_go = threading.Event()

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Wait."""
        self.entered.set()
        self.let_go.wait(PATIENCE)
        return super().raw(expression, at=at)


@contextmanager
def asking(server: FakePrometheus) -> Iterator[tuple[Past, list[Instant]]]:
    """Run the thread; give the clock too."""
    clock = [NOW]
    past = Past(
        store=Store(policy=PolicyState(policy=Policy()), at=NOW),
        clock=lambda: clock[0],
        connect=lambda _: server,
        rest_seconds=0.0,
    )
    past.start()
    try:
        yield past, clock
    finally:
        past.stop()


def answer(past: Past, expression: str) -> Found:
    """Ask until there is an answer."""
    pause = threading.Event()
    for _ in range(int(PATIENCE * 200)):
        found = past.ask(expression)
        if found is not None:
            return found
        pause.wait(0.005)
    raise AssertionError("no answer came")


def test_the_first_reader_gets_nothing_and_the_next_the_answer() -> None:
    """The first reader gets nothing and the next the answer."""
    with asking(FakePrometheus(answers={"up": ONE})) as (past, _):
        assert answer(past, "up") == Found(at=NOW, matrix=ONE)


def test_nobody_waits_for_a_server_that_hangs() -> None:
    """Nobody waits for a server that hangs."""
    server = Hung()
    with asking(server) as (past, _):
        assert past.ask("up") is None
        assert server.entered.wait(PATIENCE)
        assert past.ask("up") is None, "at once, while the query hangs"
        server.let_go.set()


def test_a_fresh_answer_is_not_asked_for_again_and_an_old_one_is() -> None:
    """A fresh answer is not asked for again and an old one is."""
    server = FakePrometheus(answers={"up": ONE})
    with asking(server) as (past, clock):
        answer(past, "up")
        clock[0] = NOW + FRESH_SECONDS / 2
        past.ask("up")
        answer(past, "other")
        assert server.asked == ["up", "other"]
        clock[0] = NOW + FRESH_SECONDS + 1
        assert past.ask("up") == Found(at=NOW, matrix=ONE), "the old one serves meanwhile"
        answer(past, "a third")
        assert sorted(server.asked) == ["a third", "other", "up", "up"]


def test_a_failure_is_told_and_not_repeated_with_each_look() -> None:
    """A failure is told and not repeated with each look."""
    server = FakePrometheus(problem=UnreachableError("connection refused"))
    with asking(server) as (past, clock):
        assert answer(past, "up").problem == "connection refused"
        clock[0] = NOW + FAILED_SECONDS - 1
        past.ask("up")
        answer(past, "other")
        assert server.asked == ["up", "other"]


def test_a_server_that_is_gone_is_tried_once_for_all_that_wait() -> None:
    """Else a crowd of readers would wait for one refusal after another."""
    server = Hung()
    server.problem = UnreachableError("connection refused")
    with asking(server) as (past, _):
        past.ask("first")
        assert server.entered.wait(PATIENCE)
        past.ask("second")
        server.let_go.set()
        assert answer(past, "first").problem == "connection refused"
        assert answer(past, "second").problem == "connection refused"
    assert server.asked == ["first"]


def test_warnings_are_a_problem_since_rows_may_be_missing() -> None:
    """Warnings are a problem since rows may be missing."""
    with asking(FakePrometheus(answers={"up": Matrix(warnings=("a store is away",))})) as (past, _):
        assert answer(past, "up").problem == "warnings: a store is away"


def test_a_defect_ends_no_thread() -> None:
    """A defect ends no thread."""

    class Broken(FakePrometheus):
        def raw(self, expression: str, *, at: Instant) -> Matrix:
            if expression == "bad":
                raise ZeroDivisionError
            return super().raw(expression, at=at)

    with asking(Broken(answers={"up": ONE})) as (past, _):
        assert answer(past, "bad").problem == "internal: ZeroDivisionError"
        assert answer(past, "up").matrix == ONE


def test_a_crowd_of_wishes_is_bounded_and_the_newest_come_first() -> None:
    """A crowd of wishes is bounded and the newest come first."""
    server = Hung()
    with asking(server) as (past, _):
        past.ask("first")
        assert server.entered.wait(PATIENCE)
        for number in range(3 * MAX_WAITING):
            past.ask(f"wish {number}")
        server.let_go.set()
        answer(past, f"wish {2 * MAX_WAITING}")
    assert server.asked[:2] == ["first", f"wish {3 * MAX_WAITING - 1}"]
    assert len(server.asked) <= MAX_WAITING + 2


def test_the_time_out_is_our_own_however_long_the_policy_allows() -> None:
    """The time out is our own however long the policy allows."""
    server = connect(PrometheusSettings(timeout=60.0))
    assert isinstance(server, Connection)
    assert server.settings.timeout == LONGEST_SECONDS
    server.close()


def test_what_is_no_number_is_not_in_history() -> None:
    """A page must not fail over a division by zero in somebody's rule."""
    odd = ((1000, float("nan")), (2000, 2.0), (3000, float("inf")), (4000, float("-inf")))
    server = FakePrometheus()
    server.answers["a"] = Matrix(series=(RawSeries(labels={"pod": "p"}, points=odd),))
    with asking(server) as (past, _):
        (row,) = answer(past, "a").matrix.series
    assert (row.labels, row.points) == ({"pod": "p"}, ((2000, 2.0),))
