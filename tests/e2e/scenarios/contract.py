"""The contract with KEDA: what it does with a scaler's answers, so that a new version shows.

Each title is one claim. Certificates are left out, as the service has none yet.
"""

from tests.e2e.scenarios import (
    contract_calls,
    contract_errors,
    contract_holds,
    contract_stalls,
    contract_streams,
    contract_targets,
    contract_values,
)
from tests.e2e.world import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    *contract_values.SCENARIOS,
    *contract_errors.SCENARIOS,
    *contract_holds.SCENARIOS,
    *contract_streams.SCENARIOS,
    *contract_calls.SCENARIOS,
    *contract_targets.SCENARIOS,
    *contract_stalls.SCENARIOS,
)
