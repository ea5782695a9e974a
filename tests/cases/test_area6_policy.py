"""Area 6 over real sockets: the mounted ConfigMap while the service runs."""

import json

import pytest

from tests.cases.client import Client, until, value
from tests.cases.service import Serve
from tests.cases.world import World


def idle_after(service: Client, name: str) -> tuple[str, str]:
    """Give the value in force for a ScaledObject, and the rule that gave it."""
    found = {one["key"]: one for one in service.decision(name)["effective"]}
    return found["idleAfter"]["value"], found["idleAfter"]["rule"]


def test_a09_a_plain_file_is_polled_and_a_warning_says_that_it_will_not_change(
    world: World, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    """A09: a subPath mount has no `..data`: said at the start, in a metric and in /readyz."""
    idle = world.add_running("a", percent=60.0)
    plain = world.folder / "plain.yaml"
    text = world.policy.path.read_text()
    plain.write_text(text)
    service = serve(policy=plain)
    service.until("a", idle, value(1))
    assert "subPath" in capfd.readouterr().err
    assert "subPath" in service.ready()[1]
    assert service.metric("policy_hot_reload") == 0.0
    assert idle_after(service, "a") == ("30m", "defaults")
    plain.write_text(text.replace("idleAfter: 30m", "idleAfter: 45m"))
    until(lambda: idle_after(service, "a") == ("45m", "defaults"))


def test_a10_a_refused_policy_leaves_the_last_good_one_in_force(
    world: World, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    """A10: four bad contents in turn, each said over HTTP, in a metric and in the log."""
    world.write_policy(idle_after="45m")
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    assert service.metric("policy_reload_ok") == 1.0
    assert service.metric("policy_hot_reload") == 1.0
    capfd.readouterr()
    for bad, told in (
        ("defaults: {idleAfter: [", "YAML"),
        ('defaults: {idleAfter: "abc"}', "defaults.idleAfter"),
        ('defaults: {idleAfter: "-5m"}', "-5m"),
        ("", "empty"),
    ):
        world.policy.write(bad)
        _refused(service, told)
        assert service.metric("policy_reload_ok") == 0.0
        assert idle_after(service, "a") == ("45m", "defaults")
        assert service.poll("a", idle) == value(1)
        ready, details = service.ready()
        assert ready
        assert "the last good one stays in force" in details
    assert capfd.readouterr().err.count("policy refused") == 4
    assert service.metric("policy_refused_total") == 4.0
    world.write_policy(idle_after="10m")
    until(lambda: idle_after(service, "a") == ("10m", "defaults"))
    assert service.metric("policy_reload_ok") == 1.0
    assert _problems(service) == ""


def test_a11_a_policy_that_vanishes_stays_in_force_whole(world: World, serve: Serve) -> None:
    """A11: 2h all along, for 60 s without the file; the default of 30m would have culled."""
    world.write_policy(idle_after="2h")
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, value(1))
    world.use("a-0", 0.0)
    world.at(2400)
    text = world.policy.path.read_text()
    world.policy.take_away()
    until(lambda: service.metric("policy_reload_ok") == 0.0)
    for t in (2430, 2460):
        world.at(t)
        assert service.poll("a", idle) == value(1)
        assert idle_after(service, "a") == ("2h", "defaults")
    assert "can't be read" in _problems(service)
    world.policy.write(text)
    until(lambda: service.metric("policy_reload_ok") == 1.0)
    assert idle_after(service, "a") == ("2h", "defaults")
    assert service.poll("a", idle) == value(1)


def _refused(service: Client, told: str) -> None:
    until(lambda: told in _problems(service), seen=lambda: _problems(service))


def _problems(service: Client) -> str:
    found = json.loads(service.get("/decisions")[1])
    assert found["policyOk"] is (not found["policyProblems"])
    return "\n".join(found["policyProblems"])
