"""Bind keepAlive and wake queries to a workload, and hear their answers.

What looks like a name has to be a query of the policy: a misspelt name would be PromQL that
answers nothing, and nothing means no. Any other text is PromQL of the trigger's own, and only
where the policy allows that.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.usage import QueryAnswer, QueryKey

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_OBJECT = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""A Kubernetes object's name: none of its characters ends a PromQL string of any quotes."""
_VARIABLE = re.compile(r"\$(namespace|workload)\b|\$\{(namespace|workload)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQuery:
    """A query, ready to be asked."""

    key: QueryKey
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbound:
    """Why a query that a trigger names can't be asked."""

    detail: str


Query: TypeAlias = BoundQuery | Unbound


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a query says now; `on` None = not known."""

    on: bool | None
    detail: str
    reason: Reason | None = None
    """Where it is not known: QUERY_MISSING or PROMETHEUS_FAILED."""


def bind(*, text: str, namespace: str, workload: str, policy: Policy) -> Query:
    """Give a trigger's query with $namespace and $workload replaced."""
    template = policy.queries.get(text)
    if template is None and _NAME.fullmatch(text):
        return Unbound(detail=f"the policy has no query {text!r}")
    if template is None and not policy.safety.trigger_queries:
        return Unbound(detail="a trigger may not bring PromQL: safety.triggerQueries is false")
    values = {"namespace": namespace, "workload": workload}
    for name, value in values.items():
        if not _OBJECT.fullmatch(value):
            return Unbound(detail=f"${name} would be {value!r}, which is no object's name")
    expression = _VARIABLE.sub(
        lambda found: values[found[1] or found[2]], text if template is None else template
    )
    key = QueryKey(name=text, namespace=namespace, workload=workload)
    return BoundQuery(key=key, expression=expression)


def hear(
    *, query: Query, answers: Mapping[QueryKey, QueryAnswer], max_age: float, now: Instant
) -> Heard:
    """Read a query's answer; one that failed, is old or was asked in other words is none."""
    if isinstance(query, Unbound):
        return Heard(on=None, detail=query.detail, reason=Reason.QUERY_MISSING)
    name, answer = query.key.name, answers.get(query.key)
    if answer is None or (answer.expression and answer.expression != query.expression):
        return _unknown(f"query {name} was not asked yet")
    if answer.problem is not None or answer.on is None:
        return _failed(name, answer.problem or "it gave no answer")
    if abs(now - answer.at) > max_age:
        return _failed(name, f"its answer is {now - answer.at:.0f} s old")
    return Heard(on=answer.on, detail=f"query {name} says {'yes' if answer.on else 'no'}")


def _failed(name: str, problem: str) -> Heard:
    return _unknown(f"query {name} failed: {problem}")


def _unknown(detail: str) -> Heard:
    return Heard(on=None, detail=detail, reason=Reason.PROMETHEUS_FAILED)
