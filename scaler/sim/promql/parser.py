"""Parse an expression: precedence climbing, as Prometheus binds its operators."""

from scaler.sim.promql.labels import anchored, matches
from scaler.sim.promql.lexer import Token, TokenKind, milliseconds, number, tokens, unquoted
from scaler.sim.promql.syntax import (
    COMPARISONS,
    SET_OPERATORS,
    Aggregation,
    Binary,
    Call,
    Grouping,
    Matcher,
    Matching,
    Negation,
    Node,
    Number,
    PromQLError,
    RangeSelector,
    Selector,
    Subquery,
    Text,
)

AGGREGATIONS = frozenset({"sum", "max", "min", "count", "group", "avg"})
_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "unless": 2,
    **dict.fromkeys(COMPARISONS, 3),
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
    "^": 7,
}
_UNARY = 6
_UNKNOWN = frozenset({"offset", "atan2", "topk", "bottomk", "quantile", "count_values", "stddev"})


def parse(expression: str) -> Node:
    """Parse a whole expression.

    Raises:
        PromQLError: what is wrong, and where.
    """
    parser = _Parser(expression)
    node = parser.expression(0)
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, expression: str) -> None:
        self._tokens = tuple(tokens(expression))
        self._next = 0

    # --- tokens --------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _advance(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _peek(self, *texts: str) -> bool:
        return self._token.kind is not TokenKind.STRING and self._token.text.lower() in texts

    def _accept(self, text: str) -> bool:
        if not self._peek(text):
            return False
        self._next += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f"expected {text!r}")

    def expect_end(self) -> None:
        """Refuse whatever follows the expression."""
        if self._token.kind is not TokenKind.END:
            raise self._unexpected("expected an operator or the end")

    def _unexpected(self, wanted: str) -> PromQLError:
        token = self._token
        shown = token.text or token.kind
        if token.text.lower() in _UNKNOWN or token.text == "@":
            return PromQLError(f"parse error at {token.at}: {shown!r} is not in this subset")
        return PromQLError(f"parse error at {token.at}: unexpected {shown!r}, {wanted}")

    # --- operators -----------------------------------------------------------------------------

    def expression(self, floor: int) -> Node:
        """Parse operators that bind tighter than `floor`."""
        left = self._unary()
        while True:
            operator = self._token.text.lower()
            rank = 0 if self._token.kind is TokenKind.STRING else _PRECEDENCE.get(operator, 0)
            if rank <= floor:
                return left
            self._advance()
            left = self._binary(operator, rank=rank, left=left)

    def _binary(self, operator: str, *, rank: int, left: Node) -> Node:
        as_bool = operator in COMPARISONS and self._accept("bool")
        matching = self._matching(operator)
        right = self.expression(rank - 1 if operator == "^" else rank)
        return Binary(
            operator=operator,
            left=left,
            right=right,
            matching=matching or Matching(),
            as_bool=as_bool,
            explicit=matching is not None,
        )

    def _matching(self, operator: str) -> Matching | None:
        if not self._peek("on", "ignoring"):
            return None
        without = self._advance().text.lower() == "ignoring"
        on = Grouping(labels=self._label_names(), without=without)
        if not self._peek("group_left", "group_right"):
            return Matching(on=on)
        if operator in SET_OPERATORS:
            raise self._unexpected(f"no grouping for {operator}")
        many = self._advance().text.lower().removeprefix("group_")
        include = self._label_names() if self._peek("(") else ()
        return Matching(on=on, many=many, include=include)

    def _unary(self) -> Node:
        if self._accept("-"):
            return Negation(inner=self.expression(_UNARY))
        if self._accept("+"):
            return self.expression(_UNARY)
        return self._ranged(self._primary())

    def _ranged(self, node: Node) -> Node:
        while self._accept("["):
            window = self._duration()
            if self._accept(":"):
                step = None if self._peek("]") else self._duration()
                node = Subquery(inner=node, window=window, step=step)
            elif isinstance(node, Selector):
                node = RangeSelector(selector=node, window=window)
            else:
                raise self._unexpected("a range belongs to a selector; write a subquery [..:..]")
            self._expect("]")
        return node

    def _duration(self) -> int:
        if self._token.kind is not TokenKind.DURATION:
            raise self._unexpected("expected a duration")
        duration = milliseconds(self._advance().text)
        if duration <= 0:
            raise PromQLError("a duration must be greater than 0")
        return duration

    # --- operands ------------------------------------------------------------------------------

    def _primary(self) -> Node:
        token = self._token
        match token.kind:
            case TokenKind.NUMBER:
                return Number(value=number(self._advance().text))
            case TokenKind.STRING:
                return Text(value=unquoted(self._advance().text))
            case TokenKind.NAME:
                return self._named()
            case _:
                pass
        if self._accept("("):
            node = self.expression(0)
            self._expect(")")
            return node
        if self._peek("{"):
            return self._selector(())
        raise self._unexpected("expected an expression")

    def _named(self) -> Node:
        token = self._advance()
        name = token.text.lower()
        if name in AGGREGATIONS and self._peek("(", "by", "without"):
            return self._aggregation(name)
        if name in _UNKNOWN and self._peek("(", "by", "without"):
            raise PromQLError(f"parse error at {token.at}: {name!r} is not in this subset")
        if self._accept("("):
            return Call(function=token.text, arguments=self._arguments())
        return self._selector((Matcher(label="__name__", operator="=", value=token.text),))

    def _aggregation(self, operator: str) -> Node:
        before = self._grouping()
        self._expect("(")
        arguments = self._arguments()
        grouping = before or self._grouping() or Grouping()
        if len(arguments) != 1:
            raise PromQLError(f"{operator} takes one argument, got {len(arguments)}")
        return Aggregation(operator=operator, grouping=grouping, inner=arguments[0])

    def _grouping(self) -> Grouping | None:
        if not self._peek("by", "without"):
            return None
        without = self._advance().text.lower() == "without"
        return Grouping(labels=self._label_names(), without=without)

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self.expression(0))
        return tuple(arguments)

    def _label_names(self) -> tuple[str, ...]:
        self._expect("(")
        names: list[str] = []
        while not self._accept(")"):
            names.append(self._label_name())
            if not self._peek(")"):
                self._expect(",")
        return tuple(names)

    def _label_name(self) -> str:
        if self._token.kind is not TokenKind.NAME or ":" in self._token.text:
            raise self._unexpected("expected a label name")
        return self._advance().text

    def _selector(self, matchers: tuple[Matcher, ...]) -> Selector:
        found = list(matchers)
        if self._accept("{"):
            while not self._accept("}"):
                found.append(self._matcher())
                if not self._peek("}"):
                    self._expect(",")
        if all(matches((), matcher) for matcher in found):
            raise PromQLError("a selector needs at least one matcher that an empty value fails")
        return Selector(matchers=tuple(found))

    def _matcher(self) -> Matcher:
        label = self._label_name()
        if not self._peek("=", "!=", "=~", "!~"):
            raise self._unexpected("expected =, !=, =~ or !~")
        operator = self._advance().text
        if self._token.kind is not TokenKind.STRING:
            raise self._unexpected("expected a string")
        value = unquoted(self._advance().text)
        if operator in {"=~", "!~"}:
            anchored(value)
        return Matcher(label=label, operator=operator, value=value)
