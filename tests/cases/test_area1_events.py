"""Area 1 over real sockets: HOLD is said to people, since KEDA shows it as healthy."""

from scaler.core.model import Kind
from scaler.sim.kinds import EVENTS
from scaler.sim.patches import Document
from scaler.sim.prometheus import Fault
from tests.cases.client import HOLD, until, value
from tests.cases.service import Serve
from tests.cases.world import World


def events(world: World) -> dict[str, Document]:
    """Give the Events by reason; each reason has one."""
    found = world.objects.all(EVENTS)
    by_reason = {one["reason"]: one for one in found}
    assert len(by_reason) == len(found)
    return by_reason


def test_k01_hold_is_counted_and_said_in_one_event_of_two_replicas(
    world: World, serve: Serve
) -> None:
    """K01: an Event on the ScaledObject when HOLD begins and when it ends."""
    idle = world.add_running("a", percent=60.0)
    replicas = [serve(), serve()]
    for service in replicas:
        service.until("a", idle, value(1))
    world.prometheus.fault = Fault.EMPTY
    for service in replicas:
        service.until("a", idle, HOLD)
        counted = service.metric("hold_answers_total", reason="NoSamples")
        assert counted is not None
        assert counted > 0
    assert events(world) == {}
    until(lambda: _later(world, "Hold"))
    world.prometheus.fault = Fault.NONE
    until(lambda: _later(world, "HoldEnded"))
    told = events(world)
    assert (told["Hold"]["type"], told["HoldEnded"]["type"]) == ("Warning", "Normal")
    assert "NoSamples" in told["Hold"]["message"]
    about = told["Hold"]["involvedObject"]
    scaled_object = world.objects.get(Kind.SCALED_OBJECTS, ("ml", "a"))
    assert scaled_object is not None
    assert (about["kind"], about["name"]) == ("ScaledObject", "a")
    assert about["uid"] == scaled_object["metadata"]["uid"]


def _later(world: World, reason: str) -> bool:
    """Let a moment pass, since only a HOLD that lasts is told; say whether the Event is there."""
    world.clock.advance(0.1)
    return reason in events(world)
