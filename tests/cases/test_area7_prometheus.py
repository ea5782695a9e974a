"""Area 7 over real sockets: what Prometheus may answer, and what KEDA gets then."""

from scaler.sim.prometheus import Fault
from tests.cases.client import HOLD, value
from tests.cases.service import Serve
from tests.cases.world import World


def test_p09_without_prometheus_the_idle_metric_holds_and_the_demand_metric_answers(
    world: World, serve: Serve
) -> None:
    """P09: only what Prometheus is needed for is unknown while it is down."""
    world.add_queue()
    pool = world.add_pool(nodes=1)
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    service.until("pool", pool, value(1))
    world.prometheus.fault = Fault.REFUSE
    world.at(60)
    service.until("a", idle, HOLD)
    assert service.poll("pool", pool) == value(1)
