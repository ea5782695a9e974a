"""KEDA asks over mTLS, and every certificate changes meanwhile."""

import time
from functools import partial

from tests.e2e.busy import OperatorLog
from tests.e2e.secured import TARGETS, Secured, secured
from tests.e2e.waiting import pause, until
from tests.e2e.world import HEAVY, Scenario, World
from tests.issuer import Issuer, Pair

SOON = 90.0
AGE = 5.0
"""Seconds after which KEDA's connections have been made anew: see busy.DRAIN."""


def t1(world: World) -> str:
    """The service's certificate is renewed, then the authority of its clients is replaced."""
    with secured(world, "t1") as s:
        s.lot.fine()
        assert s.greet(s.keda), "KEDA's own certificate is refused"
        assert s.greet(None) is None, "a client without a certificate is let in"
        return "; ".join((_renewed(s), _refused(s), _replaced(s), _replaced_with_care(s)))


def _renewed(s: Secured) -> str:
    """Renew the service's certificate: KEDA notices nothing, and its streams stay."""
    streams, log, since = _streams(s), OperatorLog(s.lot.world, s.lot.namespace), time.monotonic()
    fresh = s.server_certificate()
    swapped = s.give(fresh, s.clients)
    took = s.seconds_until(
        lambda found: bool(found and found.serial == fresh.serial), s.keda, swapped
    )
    s.serial = fresh.serial
    polls = _polled_anew(s, log)
    assert _streams(s) == streams, "a stream was cut"
    failed = log.failed_calls()
    assert not failed, f"KEDA saw {len(failed)} errors: {failed[0]}"
    s.lot.held(since)
    return (
        f"renewed: served {took:.1f} s after the swap, {polls} polls of KEDA without an error, "
        f"{streams:.0f} streams stayed"
    )


def _refused(s: Secured) -> str:
    """Swap in files that do not belong together: they are refused, and nobody notices."""
    log, since = OperatorLog(s.lot.world, s.lot.namespace), time.monotonic()
    other = s.server_certificate()
    s.give(s.server_certificate(), s.clients, key=other.key)
    for number in range(len(s.lot.service.replicas)):
        look = partial(_reload_ok, s, number, 0.0)
        until(look, f"replica {number} refuses them", within=SOON)
        found = s.greet(s.keda, number)
        assert found, "the last good ones are not in use"
        assert found.serial == s.serial, "the last good ones are not in use"
    polls = _polled_anew(s, log)
    assert not log.failed_calls(), log.failed_calls()[0]
    s.lot.held(since)
    return f"files that do not match: refused, {polls} polls by the last good ones"


def _replaced(s: Secured) -> str:
    """Replace the authority of clients in three steps; KEDA's Secret follows in the second."""
    log, since = OperatorLog(s.lot.world, s.lot.namespace), time.monotonic()
    new, server = Issuer(name="new clients"), s.server_certificate()
    old_pair, new_pair = s.keda, new.issue("keda")
    _both(s, server, new, new_pair)
    calm = _polled_anew(s, log)
    assert not log.failed_calls(), log.failed_calls()[0]
    swapped = s.give(server, new)
    out = s.seconds_until(lambda found: found is None, old_pair, swapped)
    s.clients, s.keda = new, new_pair
    polls = _polled_anew(s, log)
    failed = log.failed_calls()
    assert len(failed) <= 3 * TARGETS, f"{len(failed)} calls failed: {failed[-1]}"
    later = OperatorLog(s.lot.world, s.lot.namespace)
    _polled_anew(s, later)
    assert not later.failed_calls(), f"KEDA goes on to fail: {later.failed_calls()[-1]}"
    left, back = _streams(s), _new_generation(s)
    assert not s.lot.unready(), f"not Ready: {s.lot.unready()}"
    s.lot.fine()
    s.lot.held(since)
    return (
        f"client authority replaced: {calm} polls with both, the old one out {out:.1f} s after the "
        f"swap; {len(failed)} failed calls of KEDA in {polls - calm} polls then, none later, no "
        f"size changed; {left:.0f} streams by themselves, all {back:.1f} s after a new generation"
    )


def _replaced_with_care(s: Secured) -> str:
    """Do so once more, with new generations in the second step: then the third costs nothing."""
    since = time.monotonic()
    newer, server = Issuer(name="newer clients"), s.server_certificate()
    old_pair, new_pair = s.keda, newer.issue("keda")
    _both(s, server, newer, new_pair)
    _new_generation(s)
    _polled_anew(s, OperatorLog(s.lot.world, s.lot.namespace))
    streams, log = _streams(s), OperatorLog(s.lot.world, s.lot.namespace)
    assert streams == _wanted(s), f"{streams} streams are open"
    s.seconds_until(lambda found: found is None, old_pair, s.give(server, newer))
    polls = _polled_anew(s, log)
    failed = log.failed_calls()
    assert not failed, f"KEDA saw {len(failed)} errors: {failed[0]}"
    assert _streams(s) == streams, "a stream was cut"
    s.lot.held(since)
    return f"with new generations before that step: {polls} polls, no error, no stream cut"


def _both(s: Secured, server: Pair, new: Issuer, pair: Pair) -> None:
    """Let clients of a new authority in beside the old one's, and give KEDA one of its own."""
    s.seconds_until(bool, pair, s.give(server, s.clients, new))
    s.give_keda(pair)


def _polled_anew(s: Secured, log: OperatorLog) -> int:
    """Wait until KEDA has connected anew and asked about all; give all polls in the log."""
    pause(AGE)
    before, answered = log.polls(), sum(s.lot.answered())
    enough = before + 2 * len(s.lot.names)
    until(lambda: log.polls() >= enough, "KEDA polls on", within=SOON)
    until(lambda: sum(s.lot.answered()) > answered, "KEDA gets answers", within=SOON)
    return log.polls()


def _streams(s: Secured) -> float:
    return sum(each.sample("open_streams") or 0.0 for each in s.lot.service.replicas)


def _wanted(s: Secured) -> float:
    """Give how many streams KEDA has: two for each push trigger."""
    return 2.0 * (len(s.lot.names) // 2)


def _new_generation(s: Secured) -> float:
    """Change the ScaledObjects, on which KEDA pushes anew; give the seconds until it does.

    By itself it opens a stream with the certificate that the trigger's stream began with, and finds
    no connection of that any more: a limit of KEDA 2.21.
    """
    began = time.monotonic()
    for name in s.lot.names:
        found = s.lot.world.api.get("ScaledObject", name, s.lot.namespace) or {}
        change = {"spec": {"cooldownPeriod": found["spec"]["cooldownPeriod"] + 1}}
        s.lot.world.api.patch("ScaledObject", name, s.lot.namespace, change=change)
    until(lambda: _streams(s) >= _wanted(s), "the push streams are there", within=SOON)
    return time.monotonic() - began


def _reload_ok(s: Secured, number: int, wanted: float) -> bool:
    return s.lot.service.sample("certificate_reload_ok", number, port="grpc") == wanted


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        id="T1", title="mTLS: certificates and client authority change", play=t1, shares=HEAVY
    ),
)
