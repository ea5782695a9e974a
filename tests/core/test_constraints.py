"""Constraints: what keeps a pod off a node."""

import pytest

from scaler.core.constraints import admits, agree, meets, tolerations_of, untolerated
from scaler.core.model import NodeRequirement, Taint, Toleration
from tests.builders import GPU, make_shape

LABELS = {"zone": "a", "slots": "8"}


def _requirement(operator: str, *values: str, key: str = "zone") -> NodeRequirement:
    return NodeRequirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        (_requirement("In", "a", "b"), True),
        (_requirement("In", "b"), False),
        (_requirement("NotIn", "b"), True),
        (_requirement("NotIn", "a"), False),
        (_requirement("NotIn", "b", key="absent"), True),
        (_requirement("Exists"), True),
        (_requirement("Exists", key="absent"), False),
        (_requirement("DoesNotExist", key="absent"), True),
        (_requirement("DoesNotExist"), False),
        (_requirement("Gt", "7", key="slots"), True),
        (_requirement("Gt", "8", key="slots"), False),
        (_requirement("Lt", "9", key="slots"), True),
        (_requirement("Lt", "9", key="zone"), False),
        (_requirement("Lt", key="slots"), False),
        (_requirement("Gt", "7", key="absent"), False),
        (_requirement("Near", "a"), False),
    ],
)
def test_a_requirement(requirement: NodeRequirement, want: bool) -> None:  # noqa: FBT001 -- a table's column
    """Each operator says what the Kubernetes scheduler says; an unknown one is never met."""
    assert meets(requirement, LABELS, complete=True) is want


@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
def test_an_unknown_label_fits(operator: str) -> None:
    """On a node that is not there yet, a label that nobody knows is taken to fit."""
    assert meets(_requirement(operator, "1", key="absent"), LABELS, complete=False)


def test_a_known_label_of_a_coming_node_counts() -> None:
    """On a node that is not there yet, a label that is known counts like any."""
    assert not meets(_requirement("In", "b"), LABELS, complete=False)
    assert not admits(make_shape(node_selector={"zone": "b"}), LABELS, (), complete=False)
    assert admits(make_shape(node_selector={"rack": "b"}), LABELS, (), complete=False)


def test_a_node_selector_needs_every_label() -> None:
    """A node selector holds where every one of its labels is there."""
    assert admits(make_shape(node_selector={"zone": "a", "slots": "8"}), LABELS, ())
    assert not admits(make_shape(node_selector={"zone": "a", "rack": "1"}), LABELS, ())


def test_one_affinity_term_is_enough() -> None:
    """Of required affinity one term must hold, with all its requirements."""
    other, here = _requirement("In", "b"), _requirement("In", "a")
    assert admits(make_shape(affinity=((other,), (here,))), LABELS, ())
    assert not admits(make_shape(affinity=((other, here),)), LABELS, ())


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        (Toleration(key="team", value="ml"), True),
        (Toleration(key="team", value="ops"), False),
        (Toleration(key="team", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="team", value="ml", effect="NoExecute"), False),
        (Toleration(key="team", value="ml", effect="NoSchedule"), True),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_a_toleration(toleration: Toleration, want: bool) -> None:  # noqa: FBT001 -- a table's column
    """A taint is tolerated by key, value and effect, as the scheduler matches them."""
    taint = Taint(key="team", value="ml")
    assert (untolerated([taint], [toleration]) == ()) is want


def test_a_soft_taint_keeps_nobody_off() -> None:
    """PreferNoSchedule keeps nobody off."""
    assert untolerated([Taint(key="team", effect="PreferNoSchedule")], []) == ()


def test_a_device_taint_is_tolerated_by_who_asks_for_the_device() -> None:
    """The plugin ExtendedResourceToleration adds the toleration to the pod, not to its template."""
    taint = Taint(key=GPU, value="present")
    assert admits(make_shape(gpus=1), {}, (taint,))
    assert not admits(make_shape(gpus=0, requests={"cpu": 1}), {}, (taint,))
    assert tolerations_of(make_shape(gpus=0, requests={"cpu": 1})) == ()


def test_labels_agree_unless_both_name_a_key_with_other_values() -> None:
    """Labels agree where no key that both name differs."""
    assert agree([("gpu", "a100")], {"pool": "x"})
    assert agree([("pool", "x")], {"pool": "x"})
    assert not agree([("pool", "y")], {"pool": "x"})
