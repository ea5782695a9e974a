"""Read the texts that stand below the members of a class, where the language keeps none."""

import ast
import inspect
import textwrap
from collections.abc import Mapping


class UntoldError(Exception):
    """A member has no text: the page would have nothing to say of it."""


def member_texts(kind: type) -> Mapping[str, str]:
    """Give the text below each member of a class, and its fields; no text where there is none."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(f"{kind} is no class")
    texts = dict[str, str]()
    for statement, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        for name in _names(statement):
            texts[name] = _text(after)
    return texts


def told(kind: type, member: str) -> str:
    """Give the text of one member.

    Raises:
        UntoldError: it has none.
    """
    text = member_texts(kind).get(member, "")
    if not text:
        raise UntoldError(f"{kind.__module__}.{kind.__name__}.{member} has no text below it")
    return text


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _text(statement: ast.stmt | None) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return inspect.cleandoc(text)
        case _:
            return ""
