"""The lower bound that scenarios hold the packing against."""

import pytest

from tests.e2e.scenarios.bounds import Pod, fewest_nodes

NODE: Pod = (8, 96)


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([(4, 2), (4, 2)], 1, id="two halves"),
        pytest.param([(5, 1), (5, 1)], 2, id="10 GPUs that no second node could share"),
        pytest.param([(1, 95), (1, 95)], 2, id="CPUs alone"),
        pytest.param([(3, 1), (3, 1), (5, 1), (5, 1)], 2, id="large and small ones pair"),
        pytest.param([(4, 1), (4, 1), (3, 1), (3, 1), (2, 1)], 2, id="not as they come"),
    ],
)
def test_the_fewest_nodes_that_hold_all(pods: list[Pod], want: int) -> None:
    """Whatever the order in which the pods are given."""
    assert fewest_nodes(pods, node=NODE) == want
    assert fewest_nodes(pods[::-1], node=NODE) == want


def test_a_pod_larger_than_a_node_has_no_bound() -> None:
    """It is said, not counted."""
    with pytest.raises(ValueError, match="larger"):
        fewest_nodes([(9, 1)], node=NODE)
