"""Quantities, durations and instants are read as Kubernetes reads them."""

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.quantity import (
    LARGEST,
    amount,
    amounts,
    duration,
    format_amount,
    format_duration,
    format_instant,
    instant,
    largest,
    minus,
    plus,
    several,
    times,
)

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
    "Ti": Fraction(1024**4),
    "Pi": Fraction(1024**5),
    "Ei": Fraction(1024**6),
}

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods"]), st.integers(1, 10**6)
).map(lambda values: tuple(sorted(values.items())))


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "100m", 100),
        ("cpu", "1.5", 1500),
        ("cpu", "1n", 1),
        ("cpu", 2, 2000),
        ("cpu", 0.1, 100),
        ("memory", "1900Gi", 1900 * 1024**3),
        ("memory", "100m", 1),
        ("memory", "1e3", 1000),
        ("memory", "1E3", 1000),
        ("memory", "1E", 10**18),
        ("memory", "0.5Gi", 512 * 1024**2),
        ("memory", 1e20, LARGEST),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "500m", 1),
        ("pods", "+5.", 5),
        ("pods", ".5", 1),
        ("pods", "-0", 0),
        ("pods", "1e999999999", LARGEST),
        ("pods", "1e-999999999", 1),
        ("pods", "0e999999999", 0),
    ],
)
def test_amount(resource: str, text: str | float, expected: int) -> None:
    """A quantity gives whole units rounded up."""
    assert amount(resource, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", ".", "1ki", "1K", "1mi", "1.1.M", "1i", "e3", "1 Gi", "nan", "inf", "1e", "٣", "1" * 61],
)
def test_amount_refused(text: str) -> None:
    """What kubernetes does not know is refused with what is allowed."""
    with pytest.raises(ValueError, match="is not a quantity; allowed is"):
        amount("memory", text)


@pytest.mark.parametrize("number", [math.nan, math.inf, True])
def test_amount_of_number_refused(number: float) -> None:
    """Numbers that are no quantity are refused."""
    with pytest.raises(ValueError, match="is not a quantity"):
        amount("memory", number)


def test_true_after_one() -> None:
    """Equal numbers of different types must not share an entry of the cache."""
    assert amount("pods", 1) == 1
    with pytest.raises(ValueError, match="True"):
        amount("pods", True)


def test_amount_negative() -> None:
    """A negative quantity is refused."""
    with pytest.raises(ValueError, match="'-1' is negative"):
        amount("memory", "-1")


@given(
    st.integers(0, 10**20),
    st.integers(0, 12),
    st.sampled_from(sorted(SUFFIXES)),
    st.sampled_from(["cpu", "memory"]),
)
def test_suffixes(mantissa: int, places: int, suffix: str, resource: str) -> None:
    """Every suffix agrees with exact arithmetic."""
    text = f"{mantissa // 10**places}.{mantissa % 10**places:0{places}d}" if places else mantissa
    exact = Fraction(mantissa, 10**places) * SUFFIXES[suffix] * (1000 if resource == "cpu" else 1)
    assert amount(resource, f"{text}{suffix}") == min(math.ceil(exact), LARGEST)


@given(st.integers(0, LARGEST))
def test_amount_round_trip(value: int) -> None:
    """A written amount reads back."""
    assert amount("memory", str(value)) == value
    assert amount("cpu", f"{value}m") == value


@given(st.text(max_size=20))
def test_amount_of_any_text(text: str) -> None:
    """Any text gives an amount or a value error."""
    try:
        assert 0 <= amount("memory", text) <= LARGEST
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017 - the law is about both outcomes


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**15))
def test_law_an_amount_that_was_written_reads_as_it_was(resource: str, value: int) -> None:
    """In the units of a manifest, and still exactly."""
    assert amount(resource, format_amount(resource, value)) == value
    assert format_amount("cpu", 4000) == "4"
    assert [format_amount("cpu", each) for each in (500, 1250, 0)] == ["0.5", "1.25", "0"]
    assert [format_amount("memory", each) for each in (1536 << 20, 1001, 0)] == [
        "1536Mi",
        "1001",
        "0",
    ]
    assert format_amount("nvidia.com/gpu", 1024) == "1024"


def test_amounts() -> None:
    """Amounts are sorted and without zeros."""
    assert amounts({"nvidia.com/gpu": "8", "cpu": "2", "memory": "0"}) == (
        ("cpu", 2000),
        ("nvidia.com/gpu", 8),
    )


def test_amounts_refused() -> None:
    """A bad amount names its resource."""
    with pytest.raises(ValueError, match="memory: '2gb' is not a quantity"):
        amounts({"cpu": "1", "memory": "2gb"})


@given(AMOUNTS, AMOUNTS)
def test_plus_and_minus(
    left: tuple[tuple[str, int], ...], right: tuple[tuple[str, int], ...]
) -> None:
    """Minus undoes plus."""
    assert minus(plus(left, right), right) == left
    assert plus(left, right) == plus(right, left)


@given(AMOUNTS, st.integers(0, 5))
def test_times(each: tuple[tuple[str, int], ...], count: int) -> None:
    """Times is repeated plus."""
    total: tuple[tuple[str, int], ...] = ()
    for _ in range(count):
        total = plus(total, each)
    assert times(each, count) == total


def test_minus_floor() -> None:
    """Minus never goes below zero nor invents a resource."""
    assert minus((("cpu", 1),), (("cpu", 5), ("memory", 3))) == ()


def test_largest() -> None:
    """Largest takes each resource by itself."""
    assert largest((("cpu", 5), ("memory", 1)), (("cpu", 2), ("pods", 3))) == (
        ("cpu", 5),
        ("memory", 1),
        ("pods", 3),
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("30m", 1800.0),
        ("1h30m", 5400.0),
        ("1h0m0s", 3600.0),
        ("0s", 0.0),
        ("0", 0.0),
        ("1d", 86400.0),
        ("1w", 604800.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    """A duration gives seconds."""
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "1m1h", "-1s", "1 h", "5 minutes", "1s1s", "s"])
def test_duration_refused(text: str) -> None:
    """What is no duration is refused with what is allowed."""
    with pytest.raises(ValueError, match="is not a duration; allowed are"):
        duration(text)


@given(st.integers(0, 10**11))
def test_duration_round_trip(milliseconds: int) -> None:
    """A written duration reads back."""
    assert duration(format_duration(milliseconds / 1000)) == milliseconds / 1000


def test_negative_duration() -> None:
    """A negative duration is written with its sign."""
    assert format_duration(-90) == "-1m30s"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T01:00:01+01:00", 1.0),
        ("1969-12-31T16:00:00.5-08:00", 0.5),
        ("1970-01-01t00:00:00.123456789z", 0.123456),
        ("0001-01-01T00:00:00Z", -62135596800.0),
    ],
)
def test_instant(text: str, expected: float) -> None:
    """An instant is read with any offset."""
    assert instant(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T08:00:00",
        "20260131T080000Z",
        "2026-02-30T08:00:00Z",
        "now",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59:59.9999999Z",
    ],
)
def test_instant_refused(text: str) -> None:
    """What is no time is refused."""
    with pytest.raises(ValueError, match="is not a"):
        instant(text)


def test_instants_of_any_zone_compare() -> None:
    """C05: the same instant in two zones is one number, a fraction is a fraction."""
    utc, tokyo = instant("2026-03-01T10:00:00Z"), instant("2026-03-01T19:00:00+09:00")
    later, now = instant("2026-03-01T10:00:00.123456Z"), instant("2026-03-01T10:30:00Z")
    assert utc == tokyo
    assert later - utc == pytest.approx(0.123456, abs=1e-6)
    assert [now - utc, now - tokyo] == [1800.0, 1800.0]
    assert now - later == pytest.approx(1799.876544, abs=1e-6)


@given(st.integers(-(10**15), 4 * 10**15))
def test_instant_round_trip(microseconds: int) -> None:
    """A written instant reads back to the microsecond."""
    moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).timestamp()
    assert instant(format_instant(moment)) == moment


def test_several() -> None:
    """One thing is named in the singular, any other number of them in the plural."""
    assert [several(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
