"""Faults of our own: processes that die, and a policy that is broken while they run."""

import time

import yaml

from tests.e2e.api import Object, is_true
from tests.e2e.observed import RIGHT, SETTLED, WATCHED, Patients
from tests.e2e.replica import Replica
from tests.e2e.scenarios.faults import SLOW
from tests.e2e.scenarios.patients import AILING, FAULTY, patients
from tests.e2e.waiting import pause, though_late, until
from tests.e2e.ward import COOLDOWN
from tests.e2e.world import HEAVY, Scenario, World

DOWN = 10.0
PATIENT = 90
"""Seconds of cooldown: longer than the outage, as our examples advise."""


def f7(world: World) -> str:
    """Our processes die: both for a while, then one of the two."""
    with patients(world, AILING, last=True) as p:
        _cooldown(p, PATIENT)
        try:
            both = _both_killed(p)
            p.right(time.monotonic())
            return f"both killed: {both}; one of two: {_one_killed(p)}"
        finally:
            _cooldown(p, COOLDOWN)


def _both_killed(p: Patients) -> str:
    since = time.monotonic()
    for replica in p.scaler.replicas:
        replica.kill()
    p.stays(DOWN, since)
    began = time.monotonic()
    for replica in p.scaler.replicas:
        _again(p, replica)
    for replica in p.scaler.replicas:
        replica.wait()
    ready = time.monotonic() - began
    with though_late(lambda: p.unchanged(since)):
        right = p.right(began)
        until(lambda: _all_ready(p), "KEDA calls every ScaledObject Ready", within=SETTLED)
    keda = time.monotonic() - began
    p.stays(WATCHED, since)
    return (
        f"no size changed in {began - since:.0f} s without us, "
        f"ready {ready:.1f} s after the start, all right {right:.1f} s, KEDA content {keda:.1f} s"
    )


def _one_killed(p: Patients) -> str:
    """Kill the one that KEDA is connected to: the other one answers."""
    since = time.monotonic()
    lost, left = p.scaler.replicas
    lost.kill()
    p.stays(WATCHED, since, lambda: p.every(RIGHT, _right_or_slow))
    asked = left.sample("answers_total", outcome="OK")
    pause(3.0)
    assert (left.sample("answers_total", outcome="OK") or 0) > (asked or 0), "nobody is asked"
    began = time.monotonic()
    lost.restart()
    with though_late(lambda: p.unchanged(since)):
        right = p.right(began)
    return f"the other one right all the time; the killed one {right:.1f} s after its start"


def f9(world: World) -> str:
    """The policy is broken and mended while it is read: until then the last good one holds."""
    with patients(world, last=True) as p:
        since = time.monotonic()
        p.scaler.set_policy(_broken(p))
        refused = time.monotonic() - since
        try:
            _says_why(p)
            p.stays(WATCHED, since, lambda: p.every(RIGHT, _right_or_slow))
            _starts_not(p)
        finally:
            mended = time.monotonic()
            p.scaler.set_policy(_changed(p, busyFromPercent=2))
        loaded = time.monotonic() - mended
        _says_loaded(p)
        p.scaler.replicas[1].restart()
        with though_late(lambda: p.unchanged(since)):
            p.right(mended)
        p.scaler.set_policy(p.policy())
        return (
            f"refused after {refused:.1f} s, all right under the last good one, no size changed; "
            f"mended in force after {loaded:.1f} s; {p.proven()}"
        )


def _changed(p: Patients, **defaults: object) -> str:
    written = yaml.safe_load(p.policy())
    written["defaults"] |= defaults
    return yaml.safe_dump(written, sort_keys=False)


def _broken(p: Patients) -> str:
    """Write a policy with two problems; if any of it were in force, the busy would be idle."""
    written = yaml.safe_load(_changed(p, busyFromPercent=99))
    written["kinds"] = {"Deployment": {"idleAfter": "soon"}}
    written["nonsense"] = 1
    return yaml.safe_dump(written, sort_keys=False)


def _says_why(p: Patients) -> None:
    """Demand every problem in /decisions, the metrics, the log, and an Event on each pod."""
    for index, replica in enumerate(p.scaler.replicas):
        said = p.scaler.decisions(index)
        assert not said["policyOk"]
        problems = str(said["policyProblems"])
        assert "kinds.Deployment.idleAfter" in problems, problems
        assert "nonsense" in problems, problems
        assert replica.sample("policy_reload_ok") == 0.0
        assert (replica.sample("policy_refused_total") or 0) >= 1
        assert "kinds.Deployment.idleAfter" in replica.program.log.read_text()
        event = _event_of(p, replica, "PolicyRefused")
        assert "soon" in event["message"], event["message"]
        assert "nonsense" in event["message"], event["message"]


def _says_loaded(p: Patients) -> None:
    assert p.scaler.decisions()["policyOk"]
    decision = p.scaler.decision(p.namespace, "busy")
    assert decision
    effective = {each["key"]: each["value"] for each in decision["effective"]}
    assert str(effective["busyFromPercent"]).startswith("2"), effective
    _event_of(p, p.scaler.replicas[0], "PolicyLoaded")


def _starts_not(p: Patients) -> None:
    """Demand that a process without a last good policy ends, and opens no port before."""
    replica = p.scaler.replicas[1]
    replica.kill()
    _again(p, replica)
    until(lambda: not replica.program.runs, f"{replica.name} refuses to start", within=SETTLED)
    assert replica.program.process.returncode > 0, replica.program.tail()


def _event_of(p: Patients, replica: Replica, reason: str) -> Object:
    def look() -> Object | None:
        return next(
            (
                each
                for each in p.world.api.list("Event", p.scaler.namespace)
                if each["involvedObject"]["kind"] == "Pod"
                and each["involvedObject"]["name"] == replica.name
                and each["reason"] == reason
            ),
            None,
        )

    return until(look, f"an Event {reason} on {replica.name}", within=20.0)


def _right_or_slow(name: str, status: str, reason: str) -> bool:
    """Take what is right, and the HOLD of a machine that lags behind its samples."""
    return (status, reason) == ("OK", RIGHT[name]) or (status == "HOLD" and reason in SLOW)


def _again(p: Patients, replica: Replica) -> None:
    """Start a replica's process again without waiting for it."""
    p.world.stack.programs.again(replica.program)


def _cooldown(p: Patients, seconds: int) -> None:
    for name in RIGHT:
        change = {"spec": {"cooldownPeriod": seconds}}
        p.world.api.patch("ScaledObject", name, p.namespace, change=change)


def _all_ready(p: Patients) -> bool:
    return all(is_true(each, "Ready") for each in p.world.api.list("ScaledObject", p.namespace))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="F7", title="our processes are killed", play=f7, shares=HEAVY),
    Scenario(id="F9", title="the ConfigMap is broken and mended", play=f9, shares=FAULTY),
)
