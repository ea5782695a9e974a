"""What must happen in the real cluster, one function a scenario."""

from tests.e2e.scenarios import (
    contract,
    documented,
    explained,
    faults,
    faults_api,
    faults_service,
    frozen,
    growth,
    growth_nodes,
    growth_sizes,
    hold,
    hold_faults,
    hold_killed,
    hold_lost,
    hold_refused,
    hold_released,
    idle,
    idle_kueue,
    patients,
    privilege,
    race,
    replaced,
    replicas,
    secured,
    watched,
)
from tests.e2e.world import Scenario

POOLS = (
    *growth.POOLS,
    *growth_sizes.POOLS,
    *growth_nodes.POOLS,
    *replicas.POOLS,
    *replaced.POOLS,
    *patients.POOLS,
    *hold.POOLS,
    *explained.POOLS,
    *watched.POOLS,
)
"""Pools of the policy; a node belongs to one by its label."""
NAMESPACES = idle.NAMESPACES
"""Namespaces of the policy with thresholds of their own."""
SCENARIOS: tuple[Scenario, ...] = (
    *growth.SCENARIOS,
    *growth_sizes.SCENARIOS,
    *growth_nodes.SCENARIOS,
    *idle.SCENARIOS,
    *idle_kueue.SCENARIOS,
    *hold.SCENARIOS,
    *hold_refused.SCENARIOS,
    *hold_released.SCENARIOS,
    *hold_lost.SCENARIOS,
    *hold_faults.SCENARIOS,
    *hold_killed.SCENARIOS,
    *privilege.SCENARIOS,
    *explained.SCENARIOS,
    *contract.SCENARIOS,
    *race.SCENARIOS,  # after the idle ones: each brings replicas of its own, which need the CPU
    *replicas.SCENARIOS,
    *replaced.SCENARIOS,
    *faults.SCENARIOS,
    *faults_api.SCENARIOS,
    *faults_service.SCENARIOS,
    *frozen.SCENARIOS,
    *secured.SCENARIOS,
    *documented.SCENARIOS,
    *watched.SCENARIOS,  # the last: it asks for what all of them left
)
