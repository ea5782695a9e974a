from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import Policy, Safety
from scaler.core.reasons import Reason
from scaler.core.usage import QueryAnswer, QueryKey
from scaler.core.workers.query import BoundQuery, Query, Unbound, bind, hear
from tests.builders import NOW

TEMPLATE = 'sum(x{namespace="$namespace", pod=~"${workload}-.*"})'
POLICY = Policy(queries={"requests": TEMPLATE})
FREE = replace(POLICY, safety=Safety(trigger_queries=True))


def bound(
    text: str = "requests", *, policy: Policy = POLICY, namespace: str = "ml", workload: str = "w"
) -> Query:
    """Bind a query in namespace `ml` to workload `w`."""
    return bind(text=text, namespace=namespace, workload=workload, policy=policy)


def test_a_query_of_the_policy_is_bound_to_namespace_and_workload() -> None:
    """A query of the policy is bound to namespace and workload."""
    assert bound() == BoundQuery(
        key=QueryKey(name="requests", namespace="ml", workload="w"),
        expression='sum(x{namespace="ml", pod=~"w-.*"})',
    )


def test_a_value_is_not_read_as_a_template_again() -> None:
    """A value is not read as a template again."""
    policy = replace(POLICY, queries={"q": '"$namespace$workload"'})
    query = bound("q", policy=policy, namespace="workload", workload="namespace")
    assert isinstance(query, BoundQuery)
    assert query.expression == '"workloadnamespace"'


@pytest.mark.parametrize("name", ["requets", "up", "vllm-requests", "a.b_c"])
def test_a_name_that_the_policy_does_not_have_is_never_promql(name: str) -> None:
    """A name that the policy does not have is never promql."""
    for policy in (POLICY, FREE):
        query = bound(name, policy=policy)
        assert isinstance(query, Unbound)
        assert name in query.detail


def test_promql_of_the_triggers_own_needs_the_policys_leave() -> None:
    """Promql of the triggers own needs the policys leave."""
    text = 'sum(y{ns="$namespace"})'
    assert isinstance(bound(text), Unbound)
    query = bound(text, policy=FREE)
    assert isinstance(query, BoundQuery)
    assert query.expression == 'sum(y{ns="ml"})'
    assert query.key.name == text


@pytest.mark.parametrize(
    "value", ['x"} or vector(1) #', "a'b", "a`b", "a\\", "a\nb", "", "A", "a b", ".*", "$namespace"]
)
def test_only_names_of_objects_are_put_into_a_query(value: str) -> None:
    """Only names of objects are put into a query."""
    assert isinstance(bound(namespace=value), Unbound)
    assert isinstance(bound(workload=value), Unbound)


@given(st.text(), st.text())
def test_no_value_reaches_out_of_its_string(namespace: str, workload: str) -> None:
    """No value reaches out of its string."""
    query = bound(namespace=namespace, workload=workload)
    if isinstance(query, BoundQuery):
        assert query.expression.count('"') == TEMPLATE.count('"')
        assert not set("'`\\\n{}()$") & set(namespace + workload)


def heard(answer: QueryAnswer | None, *, policy: Policy = POLICY) -> tuple[bool | None, str | None]:
    """Hear the answer to the bound query `requests`."""
    query = bound(policy=policy)
    key = QueryKey(name="requests", namespace="ml", workload="w")
    answers = {} if answer is None else {key: answer}
    said = hear(query=query, answers=answers, max_age=90, now=NOW)
    return said.on, said.reason


@pytest.mark.parametrize("on", [True, False])
def test_an_answer_is_heard(*, on: bool) -> None:
    """An answer is heard."""
    assert heard(QueryAnswer(at=NOW - 90, on=on)) == (on, None)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        QueryAnswer(at=NOW, on=None),
        QueryAnswer(at=NOW, on=True, problem="warnings"),
        QueryAnswer(at=NOW - 91, on=False),
        QueryAnswer(at=NOW + 91, on=False),
        QueryAnswer(at=NOW, on=False, expression="up"),
    ],
)
def test_no_answer_is_not_no(answer: QueryAnswer | None) -> None:
    """No answer is not no."""
    assert heard(answer) == (None, Reason.PROMETHEUS_FAILED)


def test_a_query_that_can_not_be_asked_is_not_no() -> None:
    """A query that can not be asked is not no."""
    assert heard(None, policy=Policy()) == (None, Reason.QUERY_MISSING)


def test_a_query_that_was_not_asked_yet_did_not_fail() -> None:
    """Right after the start nothing is wrong; it only is not known."""
    query = bound()
    heard = hear(query=query, answers={}, max_age=60, now=NOW)
    assert (heard.on, heard.reason) == (None, Reason.PROMETHEUS_FAILED)
    assert heard.detail == "query requests was not asked yet"
