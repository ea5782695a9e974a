"""What is asked about rights, and what is made of the claims."""

import pytest

from scaler.kube.resources import Rule
from tests.e2e.api import Object
from tests.e2e.rights import VERBS, Right, Served, StaleError, granted, product, told

PODS, NODES = Served("", "pods", namespaced=True), Served("", "nodes", namespaced=False)
RULES = [Rule(group="", resources=("nodes", "pods"), verbs=("list",))]


def discovery(**version: object) -> Object:
    """Write what discovery tells of two core kinds, one of which has subresources."""
    pods = {
        "resource": "pods",
        "scope": "Namespaced",
        "subresources": [{"subresource": "exec"}, {"subresource": "eviction"}],
    }
    nodes = {"resource": "nodes", "scope": "Cluster"}
    versions = [{"version": "v1", "resources": [pods, nodes], **version}]
    return {"items": [{"metadata": {}, "versions": versions}]}


def test_subresources_are_told_of_too() -> None:
    """A right to pods is none to pods/exec, and the other way around."""
    subs = {Served("", f"pods/{each}", namespaced=True) for each in ("exec", "eviction")}
    assert set(told(discovery())) == {PODS, NODES, *subs}


def test_what_is_stale_is_not_passed_over() -> None:
    """Else its kinds would be asked about by nobody."""
    with pytest.raises(StaleError, match="v1"):
        list(told(discovery(freshness="Stale")))


def test_every_verb_is_asked_in_every_place() -> None:
    """What has no namespace is asked about once."""
    asked = product([PODS, NODES], ("own", "other"))
    of_pods = [each for each in asked if each.resource == "pods"]
    assert len(of_pods) == 3 * len(VERBS)
    assert {each.place for each in of_pods} == {"", "own", "other"}
    assert {each.verb for each in asked if each.resource == "nodes"} == set(VERBS)
    assert {each.place for each in asked if each.resource == "nodes"} == {""}
    assert Right("*", "*", "delete") in asked


def test_a_claim_is_in_every_place_or_in_one() -> None:
    """As ClusterRole and Role grant it."""
    asked = product([PODS], ("own", "other"))
    assert {each.place for each in granted(RULES, asked)} == {"", "own", "other"}
    assert granted(RULES, asked, place="own") == {Right("", "pods", "list", "own")}


def test_a_question_names_the_subresource_apart() -> None:
    """`pods/exec` is no resource of its own to the API server."""
    attributes = Right("", "pods/exec", "create", "own").review()["spec"]["resourceAttributes"]
    assert attributes == {
        "group": "",
        "resource": "pods",
        "subresource": "exec",
        "verb": "create",
        "namespace": "own",
    }


def test_reading_is_no_writing() -> None:
    """Whatever else there is is one."""
    reading = {each for each in VERBS if not Right("", "pods", each).writes}
    assert reading == {"get", "list", "watch"}
