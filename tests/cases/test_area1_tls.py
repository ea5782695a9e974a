"""Area 1 over TLS: certificates that change on disk while KEDA is connected."""

from pathlib import Path

import grpc
import pytest

from tests.cases.client import until, value
from tests.cases.service import Serve, Service
from tests.cases.world import World
from tests.handshakes import HEALTH, HTTP2, served
from tests.issuer import Issuer, Mounted, Pair, client_context

SERVERS, CLIENTS, NEW_CLIENTS = (Issuer(name=name) for name in ("servers", "clients", "new"))
FIRST, SECOND = SERVERS.issue("first"), SERVERS.issue("second")
KEDA, NEW_KEDA = CLIENTS.issue("keda"), NEW_CLIENTS.issue("keda")


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    """Mount the first certificates, and the first authority of clients."""
    made = Mounted(tmp_path / "tls")
    made.swap(FIRST, CLIENTS)
    return made


@pytest.fixture
def secured(world: World, serve: Serve, mounted: Mounted) -> tuple[Service, World]:
    """Serve with mTLS on both ports, as KEDA and Prometheus reach it with certificates."""
    return (
        serve(
            grpc_certificates=mounted.files,
            status_certificates=mounted.files,
            credentials=grpc.ssl_channel_credentials(SERVERS.pem, KEDA.key, KEDA.certificate),
            context=client_context(SERVERS, KEDA),
        ),
        world,
    )


def serials(service: Service, pair: Pair | None) -> list[str | None]:
    """Give the serial number that each port serves to a new client; None where it refuses."""
    found = [
        served(int(address.rpartition(":")[2]), client_context(SERVERS, pair), say=say)
        for address, say in ((service.grpc_address, HTTP2), (service.status_url, HEALTH))
    ]
    return [each.serial if each else None for each in found]


def test_k15_swapped_certificates_are_served_without_a_restart(
    secured: tuple[Service, World], mounted: Mounted
) -> None:
    """K15: the new serial on both ports, clients of the old authority out, the stream untouched."""
    service, world = secured
    idle = world.add_running("a", percent=60.0)
    service.until("a", idle, value(1))
    stream = service.push("a", idle)
    until(lambda: stream.results == [True])
    assert serials(service, KEDA) == [FIRST.serial, FIRST.serial]
    assert serials(service, None) == [None, FIRST.serial]
    mounted.swap(SECOND, NEW_CLIENTS)
    until(lambda: serials(service, NEW_KEDA) == [SECOND.serial, SECOND.serial])
    assert serials(service, KEDA) == [None, None]
    assert service.poll("a", idle) == value(1)
    assert (stream.results, stream.code) == ([True], None)
    mounted.swap(SECOND, CLIENTS)  # this client's again, which the end of the test needs
    until(lambda: serials(service, KEDA) == [SECOND.serial, SECOND.serial])


def test_k15_bad_files_are_told_and_the_last_good_ones_stay(
    secured: tuple[Service, World], mounted: Mounted
) -> None:
    """K15: metric and readiness detail of each port; the first good files are taken at once."""
    service, _ = secured
    mounted.put({"tls.crt": SECOND.certificate, "tls.key": FIRST.key, "ca.crt": CLIENTS.pem})
    until(lambda: service.metric("certificate_reload_ok", port="grpc") == 0.0)
    until(lambda: service.metric("certificate_reload_ok", port="status") == 0.0)
    assert service.metric("certificate_expiry_seconds", port="grpc") == FIRST.ends
    details = service.ready()[1]
    for port in ("grpc", "status"):
        assert f"{port} certificates: refused, the last good ones stay in use" in details
    assert "tls.key: it is not the key of" in details
    assert serials(service, KEDA) == [FIRST.serial, FIRST.serial]
    mounted.swap(SECOND, CLIENTS)
    until(lambda: service.metric("certificate_reload_ok", port="grpc") == 1.0)
    until(lambda: serials(service, KEDA) == [SECOND.serial, SECOND.serial])
    until(lambda: "certificates" not in service.ready()[1])
