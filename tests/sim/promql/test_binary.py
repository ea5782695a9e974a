"""Operations on two expressions: values, filters, sets and matching."""

import math

import pytest

from scaler.sim.promql import PromQLError, evaluate
from tests.sim.promql.expressions import NOW, scalar, store_of, vector


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
        ("1 / -0", -math.inf),
        ("7 % -3", 1.0),
        ("-7 % 3", -1.0),
        ("2 ^ 0.5", math.sqrt(2)),
        ("10 ^ 400", math.inf),
        ("-10 ^ 401", -math.inf),
        ("0 ^ -1", math.inf),
        ("1 == bool 1", 1.0),
        ("1 > bool 2", 0.0),
        ("NaN != bool NaN", 1.0),
    ],
)
def test_arithmetic_at_its_edges(expression: str, value: float) -> None:
    """Arithmetic at its edges."""
    assert scalar(expression) == value


@pytest.mark.parametrize("expression", ["0 / 0", "NaN / 0", "1 % 0", "Inf % 2", "(-8) ^ 0.5"])
def test_what_is_no_number_is_nan(expression: str) -> None:
    """What is no number is nan."""
    assert math.isnan(scalar(expression))


def test_a_filter_keeps_the_vectors_value_and_name_on_either_side() -> None:
    """A filter keeps the vectors value and name on either side."""
    store = store_of({"m a=1": [1.0], "m a=2": [5.0]})
    assert vector(store, "m > 2") == {"__name__=m a=2": 5.0}
    assert vector(store, "2 < m") == {"__name__=m a=2": 5.0}
    assert vector(store, "2 > bool m") == {"a=1": 1.0, "a=2": 0.0}
    assert vector(store, "10 - m") == {"a=1": 9.0, "a=2": 5.0}


def test_nan_passes_no_filter_but_inequality() -> None:
    """NaN passes no filter but inequality."""
    store = store_of({"m": [math.nan]})
    for operator in ("==", ">", "<", ">=", "<="):
        assert vector(store, f"m {operator} 1") == {}
    assert list(vector(store, "m != 1")) == ["__name__=m"]


def test_sets() -> None:
    """Sets."""
    store = store_of({"m a=1": [1.0], "m a=2": [2.0], "n a=2": [9.0], "n a=3": [3.0]})
    assert vector(store, "m and n") == {"__name__=m a=2": 2.0}
    assert vector(store, "m unless n") == {"__name__=m a=1": 1.0}
    assert vector(store, "m or n") == {
        "__name__=m a=1": 1.0,
        "__name__=m a=2": 2.0,
        "__name__=n a=3": 3.0,
    }
    assert vector(store, "m and on () n") == {"__name__=m a=1": 1.0, "__name__=m a=2": 2.0}
    assert vector(store, "m unless ignoring (a) n") == {}


def test_sets_are_taken_anew_at_each_instant() -> None:
    """Sets are taken anew at each instant."""
    store = store_of({"m": [1.0] * 6, "n": [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]})
    expression = "count_over_time((m and (n > 0))[6m:1m])"
    assert vector(store, expression, at=NOW + 40) == {"": 4.0}
    assert vector(store, "count_over_time((m unless (n > 0))[6m:1m])", at=NOW + 40) == {"": 2.0}
    filled = "sum_over_time(((n > 0) * 1 or (m * 10))[6m:1m])"
    assert vector(store, filled, at=NOW + 40) == {"": 24.0}


def test_vectors_match_by_all_labels_but_the_name() -> None:
    """Vectors match by all labels but the name."""
    store = store_of({"m a=1": [1.0], "m a=2": [2.0], "n a=2": [9.0]})
    assert vector(store, "m + n") == {"a=2": 11.0}
    assert vector(store, "m < n") == {"__name__=m a=2": 2.0}
    assert vector(store, "m < bool n") == {"a=2": 1.0}


def test_a_match_on_some_labels_keeps_only_those() -> None:
    """A match on some labels keeps only those."""
    store = store_of({"m a=1 b=x": [1.0], "n a=1 c=y": [4.0]})
    assert vector(store, "m + on (a) n") == {"a=1": 5.0}
    assert vector(store, "m + ignoring (b, c) n") == {"a=1": 5.0}


def test_the_many_side_keeps_its_labels_and_takes_those_that_are_named() -> None:
    """The many side keeps its labels and takes those that are named."""
    store = store_of({"m a=1 b=x": [2.0], "m a=1 b=y": [3.0], "n a=1 c=z": [4.0]})
    left = vector(store, "m / on (a) group_left (c) n")
    assert left == {"a=1 b=x c=z": 0.5, "a=1 b=y c=z": 0.75}
    right = vector(store, "n / on (a) group_right () m")
    assert right == {"a=1 b=x": 2.0, "a=1 b=y": 4.0 / 3}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("n + on (a) m", "duplicate series"),
        ("m + on (a) n", "multiple matches"),
        ("n * on (a) group_left () m", "duplicate series"),
        ("m and 1", "set operator and not allowed with a scalar"),
        ("1 or 2", "set operator or not allowed between scalars"),
        ("1 > 2", "must use bool"),
        ("m + on (a) 1", "only allowed between vectors"),
    ],
)
def test_what_is_ambiguous_or_makes_no_sense_is_refused(expression: str, problem: str) -> None:
    """What is ambiguous or makes no sense is refused."""
    store = store_of({"m a=1 b=x": [1.0], "m a=1 b=y": [2.0], "n a=1": [9.0]})
    with pytest.raises(PromQLError) as caught:
        evaluate(store, expression, NOW)
    assert problem in str(caught.value)


def test_partners_that_are_never_there_together_are_no_ambiguity() -> None:
    """Partners that are never there together are no ambiguity."""
    store = store_of({"n a=1 b=x": [1.0, 1.0, None, None], "m a=1": [2.0] * 4}, every=200.0)
    store.append("n", {"a": "1", "b": "x"}, at=NOW - 390, value=None)
    store.append("n", {"a": "1", "b": "y"}, at=NOW - 10, value=5.0)
    answer = vector(store, "sum_over_time((m * on (a) n)[10m:10s])")
    assert list(answer) == ["a=1"]
