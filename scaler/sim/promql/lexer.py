"""Cut an expression into tokens."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from scaler.sim.promql.syntax import PromQLError


class TokenKind(StrEnum):
    """Name the sorts of token."""

    NUMBER = "number"
    DURATION = "duration"
    NAME = "name"
    STRING = "string"
    SYMBOL = "symbol"
    END = "end of input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token and where it starts."""

    kind: TokenKind
    text: str
    at: int


_UNITS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
    "y": 31_536_000_000,
}
_DURATION = (
    r"(?=\d+(?:ms|[ywdhms]))(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?"
)
_TOKENS = re.compile(
    rf"""
      (?P<blank>\s+|\#[^\n]*)
    | (?P<duration>{_DURATION})(?![\w.])
    | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|nan)\b)(?![\w.])
    | (?P<name>[a-zA-Z_][\w:]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    | (?P<symbol>=~|!~|==|!=|>=|<=|[-+*/%^(){{}}\[\],:=<>@])
    """,
    re.VERBOSE | re.ASCII,
)


def tokens(expression: str) -> Iterator[Token]:
    """Give the tokens, then one that marks the end.

    Raises:
        PromQLError: a character that starts no token.
    """
    position = 0
    while position < len(expression):
        found = _TOKENS.match(expression, position)
        if found is None or found.lastgroup is None:
            shown = expression[position : position + 20]
            raise PromQLError(f"parse error at {position}: unexpected {shown!r}")
        if found.lastgroup != "blank":
            yield Token(kind=TokenKind(found.lastgroup), text=found[0], at=position)
        position = found.end()
    yield Token(kind=TokenKind.END, text="", at=position)


def milliseconds(text: str) -> int:
    """Read a duration token."""
    parts = re.findall(r"(\d+)(ms|[ywdhms])", text)
    return sum(int(count) * _UNITS[unit] for count, unit in parts)


def number(text: str) -> float:
    """Read a number token."""
    return float(int(text, 16)) if text[:2] in {"0x", "0X"} else float(text)


def unquoted(text: str) -> str:
    """Read a string token; its escapes are those that Go and Python share."""
    if text.startswith("`"):
        return text[1:-1]
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError) as error:
        raise PromQLError(f"bad string {text}") from error
