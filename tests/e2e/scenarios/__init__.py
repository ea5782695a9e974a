"""What must happen in the real cluster, one function a scenario."""

from tests.e2e.scenarios import contract, smoke
from tests.e2e.world import Scenario

POOLS = smoke.POOLS
"""Pools of the policy; a node belongs to one by its label."""
SCENARIOS: tuple[Scenario, ...] = (*smoke.SCENARIOS, *contract.SCENARIOS)
