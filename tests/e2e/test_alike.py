"""Two replicas' answers are held against each other."""

import asyncio

import pytest

from scaler.pb import externalscaler_pb2 as pb
from tests.e2e.alike import Comparison, compare, read
from tests.e2e.answers import Stub
from tests.e2e.script import wants

REF = pb.ScaledObjectRef(namespace="lab", name="team")


def noted(*rounds: tuple[str, str]) -> Comparison:
    """Give what comes of answers a second apart about one trigger."""
    found = Comparison()
    for number, answers in enumerate(rounds):
        found.note("a", answers, since=float(number), until=number + 0.1)
    return found


def test_a_difference_lasts_until_both_agree_again() -> None:
    """And the pair that it began with is told."""
    found = noted(("1", "1"), ("2", "1"), ("2", "3"), ("3", "3"), ("3", "3"))
    (span,) = found.spans
    assert (span.since, span.until, span.answers) == (1.0, 3.1, ["2", "1"])
    assert found.compared == 5
    assert found.agreed == {"a": ["1", "3"]}


def test_a_difference_that_does_not_end_counts_up_to_the_end() -> None:
    """Else it would be none."""
    (span,) = noted(("1", "1"), ("2", "1"), ("2", "1")).spans
    assert span.seconds == pytest.approx(1.1)


def test_each_difference_is_one_of_its_own() -> None:
    """Agreement between them ends the first."""
    assert len(noted(("2", "1"), ("2", "2"), ("2", "3"), ("3", "3")).spans) == 2


def test_what_is_written_can_be_read() -> None:
    """The program prints it, the scenario reads it."""
    found = noted(("1", "2"), ("2", "2"))
    assert read(found.told()).spans == found.spans
    assert read(found.told()).agreed == found.agreed


@pytest.mark.parametrize(("value", "differences"), [(1.0, 0), (2.0, 1)])
def test_real_answers_are_compared(value: float, differences: int) -> None:
    """Spec, value and activity, of two servers."""
    with Stub() as one, Stub() as other:
        one.script("lab", "team", wants(1.0))
        other.script("lab", "team", wants(value))
        found = asyncio.run(asked_once(one.listen(), other.listen()))
    assert (found.compared, len(found.spans)) == (1, differences)
    for span in found.spans:
        assert [each.rpartition("=")[2] for each in span.answers] == ["1, active", "2, active"]


async def asked_once(one: str, other: str) -> Comparison:
    """Ask both a single time."""
    leaving = asyncio.Event()
    leaving.set()
    return await compare((one, other), [REF], leaving)
