"""How expressions are read, and how those are refused that can't be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.sim.promql.parser import parse
from scaler.sim.promql.syntax import (
    Aggregation,
    Binary,
    Grouping,
    Matcher,
    Matching,
    Number,
    PromQLError,
    RangeSelector,
    Selector,
    Subquery,
)
from tests.sim.promql.expressions import scalar


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 - 2 - 3", -4.0),
        ("2 + 3 * 4", 14.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 * -3", -6.0),
        ("2 ^ -1", 0.5),
        ("7 % 4 * 2", 6.0),
        ("1 + 1 == bool 2", 1.0),
        ("+1", 1.0),
        ("0x1F", 31.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("(1)", 1.0),
        ("1 # a comment", 1.0),
    ],
)
def test_operators_bind_as_in_prometheus(expression: str, value: float) -> None:
    """Operators bind as in prometheus."""
    assert scalar(expression) == value


def test_a_selector_keeps_its_matchers_in_order() -> None:
    """A selector keeps its matchers in order."""
    assert parse("""up{job="a", host!='b', x=~"c|d", y!~`e`,}""") == Selector(
        matchers=(
            Matcher(label="__name__", operator="=", value="up"),
            Matcher(label="job", operator="=", value="a"),
            Matcher(label="host", operator="!=", value="b"),
            Matcher(label="x", operator="=~", value="c|d"),
            Matcher(label="y", operator="!~", value="e"),
        )
    )


def test_recorded_names_keep_their_colons() -> None:
    """Recorded names keep their colons."""
    assert parse("a:b:c") == Selector(
        matchers=(Matcher(label="__name__", operator="=", value="a:b:c"),)
    )


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("5m", 300_000), ("1h30m", 5_400_000), ("1799999ms", 1_799_999), ("2d", 172_800_000)],
)
def test_ranges_are_durations(text: str, milliseconds: int) -> None:
    """Ranges are durations."""
    node = parse(f"up[{text}]")
    assert isinstance(node, RangeSelector)
    assert node.window == milliseconds


def test_subqueries_may_leave_their_step_to_the_server() -> None:
    """Subqueries may leave their step to the server."""
    assert isinstance(node := parse("sum(up)[5m:15s]"), Subquery)
    assert (node.window, node.step) == (300_000, 15_000)
    assert isinstance(node := parse("up[5m:]"), Subquery)
    assert node.step is None


@pytest.mark.parametrize("expression", ["sum by (a, b) (up)", "sum(up) by (a, b)"])
def test_a_grouping_stands_before_or_behind(expression: str) -> None:
    """A grouping stands before or behind."""
    node = parse(expression)
    assert isinstance(node, Aggregation)
    assert (node.operator, node.grouping) == ("sum", Grouping(labels=("a", "b")))


def test_a_match_names_its_labels_and_its_many_side() -> None:
    """A match names its labels and its many side."""
    node = parse("a * on (x) group_left (y, z) b")
    assert isinstance(node, Binary)
    on = Grouping(labels=("x",))
    assert node.matching == Matching(on=on, many="left", include=("y", "z"))


def test_metrics_may_be_called_as_operators_are() -> None:
    """Metrics may be called as operators are."""
    for name in ("sum", "by", "group_left", "infinity", "nano"):
        assert isinstance(parse(f"{name} + 1"), Binary)


@pytest.mark.parametrize("literal", ["NaN", "Inf", "inf"])
def test_the_words_for_no_number_are_numbers(literal: str) -> None:
    """The words for no number are numbers."""
    assert isinstance(parse(literal), Number)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "end of input"),
        ("sum(up", "expected ','"),
        ("up{", "expected a label name"),
        ("up{a}", "expected =, !=, =~ or !~"),
        ("up{a=b}", "expected a string"),
        ("{}", "at least one matcher"),
        ('{a=~".*"}', "at least one matcher"),
        ("up[5]", "expected a duration"),
        ("up[0s]", "greater than 0"),
        ("up[5m", "expected ']'"),
        ("sum(up)[5m]", "write a subquery"),
        ("up up", "expected an operator"),
        ("1 +", "expected an expression"),
        ("up ! 1", "unexpected '! 1'"),
        ("'open", "unexpected"),
        ("up offset 5m", "'offset' is not in this subset"),
        ("up @ 5", "'@' is not in this subset"),
        ("topk(3, up)", "'topk' is not in this subset"),
        ("sum(up, up)", "sum takes one argument"),
        ('up{a=~"("}', "bad regular expression"),
        ("a and on (x) group_left () b", "no grouping for and"),
    ],
)
def test_what_is_wrong_is_told(expression: str, problem: str) -> None:
    """What is wrong is told."""
    with pytest.raises(PromQLError) as caught:
        parse(expression)
    assert problem in str(caught.value)


@given(st.text(alphabet="up sum()[]{}:,=~!<>\"'`\\5m.+-*/^%andorbyx", max_size=30))
def test_any_text_is_an_expression_or_a_promql_error(text: str) -> None:
    """Any text is an expression or a promql error."""
    try:
        parse(text)
    except PromQLError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
