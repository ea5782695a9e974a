"""What a parsed expression is made of."""

from dataclasses import dataclass
from typing import TypeAlias


class PromQLError(Exception):
    """An expression that is wrong, or that this subset does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number literal."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string literal, only as a function's argument."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One label matcher of a selector."""

    label: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """An instant selector."""

    matchers: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSelector:
    """A selector with a range."""

    selector: Selector
    window: int
    """Milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subquery:
    """An expression evaluated at absolute multiples of a step."""

    inner: "Node"
    window: int
    """Milliseconds."""
    step: int | None
    """Milliseconds; None = the server's evaluation interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call."""

    function: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """`by` or `without` of an aggregation, `on` or `ignoring` of a match."""

    labels: tuple[str, ...] = ()
    without: bool = False
    """Also what `ignoring` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """An aggregation over series."""

    operator: str
    grouping: Grouping
    inner: "Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How the sides of a binary operation find each other."""

    on: Grouping = Grouping(without=True)
    many: str | None = None
    """`left` or `right` where that side may have several (group_left, group_right)."""
    include: tuple[str, ...] = ()
    """Labels taken from the side of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """An operation on two expressions."""

    operator: str
    left: "Node"
    right: "Node"
    matching: Matching = Matching()
    as_bool: bool = False
    explicit: bool = False
    """Matching was written, which needs a vector on each side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Negation:
    """A unary minus."""

    inner: "Node"


Node: TypeAlias = (
    Number | Text | Selector | RangeSelector | Subquery | Call | Aggregation | Binary | Negation
)

COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
SET_OPERATORS = frozenset({"and", "or", "unless"})
