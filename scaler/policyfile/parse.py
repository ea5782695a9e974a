"""Parse a policy's text."""

from collections.abc import Mapping

from scaler.core.policy import Policy
from scaler.core.trigger import Problem
from scaler.policyfile.document import Tree, read_documents, shown, written
from scaler.policyfile.fields import POLICY
from scaler.policyfile.rules import broken_rules
from scaler.policyfile.shapes import Reader

MAX_PROBLEMS = 200
"""More are counted, not listed: they go into each log line, page and answer about the policy."""


def parse_policy(text: str) -> Policy | tuple[Problem, ...]:
    """Parse YAML into a Policy; give every problem at once where there are any, up to 200.

    It never raises, whatever the text. A text without content is a problem: an empty file is
    more likely a broken mount than the wish for built-in values (`{}` says that one).
    """
    found = _parsed(text)
    return found if isinstance(found, Policy) else _listed(found)


def _listed(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    left = len(problems) - MAX_PROBLEMS
    if left <= 0:
        return problems
    more = Problem(path=written(()), value="", allowed=f"there are {left} more problems")
    return (*problems[:MAX_PROBLEMS], more)


def _parsed(text: str) -> Policy | tuple[Problem, ...]:
    documents, problems = read_documents(text)
    if problems and not documents:
        return problems
    if len(documents) != 1 or documents[0] is None:
        count = len(documents)
        allowed = "the file must hold one document with at least one key, or {}"
        said = f"{count} documents" if count > 1 else "empty"
        return (*problems, Problem(path=written(()), value=said, allowed=allowed))
    found = read_policy(documents[0])
    if isinstance(found, Policy):
        return problems or found
    return (*problems, *found)


def read_policy(tree: Tree) -> Policy | tuple[Problem, ...]:
    """Read a policy that is a value already, out of a document of its own or of another."""
    reader = Reader()
    policy = reader.read(POLICY, tree)
    if not isinstance(policy, Policy) or not isinstance(tree, Mapping):
        nothing = Problem(path=written(()), value=shown(tree), allowed="allowed is a mapping")
        return tuple(reader.problems) or (nothing,)
    return (*reader.problems, *broken_rules(policy, tree)) or policy
