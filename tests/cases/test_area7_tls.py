"""Area 7 over real sockets: a Prometheus behind a private certificate authority."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.sim.prometheus import PrometheusServer
from tests.authorities import Authority, make_authority
from tests.cases.client import HOLD, value
from tests.cases.service import Serve
from tests.cases.world import World


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Make the authority that signed Prometheus' certificate."""
    return make_authority(tmp_path_factory.mktemp("certificates") / "right")


@pytest.fixture
def secured(world: World, authority: Authority) -> Iterator[PrometheusServer]:
    """Serve the world's samples over TLS."""
    server = PrometheusServer(world.samples, clock=world.clock.now, tls=authority.server)
    with server:
        yield server


def test_p07_without_the_private_authority_it_holds_and_never_goes_unverified(
    world: World, serve: Serve, secured: PrometheusServer
) -> None:
    """P07b: no bundle is given, so the certificate can't be trusted; no request is sent."""
    world.write_policy(url=secured.url)
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, HOLD)
    service.explained("a", "PrometheusFailed", "certificate")
    assert service.poll("a", idle) == HOLD
    assert secured.asked == []


def test_p07_a_replaced_bundle_is_picked_up(
    world: World,
    serve: Serve,
    secured: PrometheusServer,
    authority: Authority,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """P07c, P07a: the wrong bundle holds, the right one works, without a restart."""
    wrong = make_authority(tmp_path_factory.mktemp("certificates") / "wrong")
    bundle = world.folder / "ca.crt"
    _replace(bundle, wrong)
    world.write_policy(url=secured.url, prometheus=f'caFile: "{bundle}"')
    idle = world.add_running("a", percent=60.0)
    service = serve()
    service.until("a", idle, HOLD)
    service.explained("a", "PrometheusFailed", "certificate")
    assert secured.asked == []
    _replace(bundle, authority)
    service.until("a", idle, value(1))
    _replace(bundle, wrong)
    world.at(60)
    service.until("a", idle, HOLD)


def _replace(bundle: Path, authority: Authority) -> None:
    fresh = bundle.with_suffix(".next")
    fresh.write_bytes(authority.bundle.read_bytes())
    fresh.replace(bundle)
