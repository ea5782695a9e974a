"""What an expression reads: its selectors, and how far back."""

import pytest

from scaler.sim.promql import PromQLError
from scaler.sim.promql.selectors import reads


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("m", [('{__name__="m"}', 300)]),
        ('sum(a{b=~"x.*"} + c)', [('{__name__="a", b=~"x.*"}', 300), ('{__name__="c"}', 300)]),
        ("increase(a[2m])", [('{__name__="a"}', 120)]),
        ("max_over_time((a > 1)[30m:15s])", [('{__name__="a"}', 2100)]),
        ("max_over_time(rate(a[1m])[10m:])", [('{__name__="a"}', 660)]),
        ("-a or vector(1)", [('{__name__="a"}', 300)]),
        ('label_replace(a, "x", "$1", "y", "z")', [('{__name__="a"}', 300)]),
        ('{a="\\"\\\\\\n"}', [('{a="\\"\\\\\\n"}', 300)]),
        ("time() - 1", []),
    ],
)
def test_selectors_of_an_expression(expression: str, found: list[tuple[str, float]]) -> None:
    """Ranges and subqueries add up; what is found can be parsed again and reads the same."""
    assert list(reads(expression)) == found
    for selector, _ in found:
        assert list(reads(selector)) == [(selector, 300)]


def test_what_is_not_known_is_an_error() -> None:
    """Never a guess."""
    with pytest.raises(PromQLError):
        reads("topk(1, a)")
