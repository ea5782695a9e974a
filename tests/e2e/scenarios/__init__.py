"""What must happen in the real cluster, one function a scenario."""

from tests.e2e.scenarios import (
    contract,
    growth,
    growth_nodes,
    growth_sizes,
    idle,
    idle_kueue,
    race,
    replicas,
)
from tests.e2e.world import Scenario

POOLS = (*growth.POOLS, *growth_sizes.POOLS, *growth_nodes.POOLS, *replicas.POOLS)
"""Pools of the policy; a node belongs to one by its label."""
NAMESPACES = idle.NAMESPACES
"""Namespaces of the policy with thresholds of their own."""
SCENARIOS: tuple[Scenario, ...] = (
    *growth.SCENARIOS,
    *growth_sizes.SCENARIOS,
    *growth_nodes.SCENARIOS,
    *idle.SCENARIOS,
    *idle_kueue.SCENARIOS,
    *contract.SCENARIOS,
    *race.SCENARIOS,
    *replicas.SCENARIOS,
)
