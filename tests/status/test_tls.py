"""HTTPS on the status port, with and without certificates of clients."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from scaler.certificates import Certificates, Port
from scaler.core.policy import Policy
from scaler.policyfile import PolicyState
from scaler.settings import Address, CertificateFiles
from scaler.status.connections import MAX_CONNECTIONS
from scaler.status.metrics import register
from scaler.status.server import StatusServer
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW
from tests.handshakes import HEALTH, Served, served
from tests.issuer import Issuer, Mounted, Pair, client_context, now, only_1_1

PATIENCE = 20.0
SERVERS, CLIENTS, NEW_CLIENTS = (Issuer(name=name) for name in ("servers", "clients", "new"))
FIRST, SECOND = SERVERS.issue("first"), SERVERS.issue("second")
SCRAPER, NEW_SCRAPER = CLIENTS.issue("prometheus"), NEW_CLIENTS.issue("prometheus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secure:
    """A status port with certificates, and its files."""

    mounted: Mounted
    certificates: Certificates
    port: int

    def swap(self, pair: Pair, *authorities: Issuer) -> None:
        """Swap the files and have them looked at."""
        self.mounted.swap(pair, *authorities)
        assert self.certificates.poll() is not None

    def greet(self, pair: Pair | None = None) -> Served | None:
        """Connect anew; None where it is refused."""
        return served(self.port, client_context(SERVERS, pair), say=HEALTH)

    def serial(self, pair: Pair | None = None) -> str | None:
        """Give the serial number that is served; None where it is refused."""
        found = self.greet(pair)
        return found.serial if found else None

    def get(self, path: str, pair: Pair | None = None) -> tuple[int, str]:
        """Give status and body."""
        connection = self.connection(pair)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def connection(self, pair: Pair | None = None) -> http.client.HTTPSConnection:
        """Give a client that keeps its connection."""
        context = client_context(SERVERS, pair)
        return http.client.HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE, context=context
        )


@contextmanager
def serving(
    folder: Path, files: Callable[[Mounted], CertificateFiles] = lambda each: each.files
) -> Iterator[Secure]:
    """Serve an empty store over TLS."""
    mounted = Mounted(folder)
    mounted.swap(FIRST, CLIENTS)
    certificates = Certificates(Port.STATUS, files(mounted), clock=now)
    store = Store(policy=PolicyState(policy=Policy()), at=NOW)
    server = StatusServer(
        store=store,
        registry=register(telemetry=Telemetry(), store=store, clock=lambda: NOW),
        clock=lambda: NOW,
        address=Address(host="127.0.0.1", port=0),
        certificates=certificates,
        details=certificates.details,
    )
    server.start()
    try:
        yield Secure(mounted=mounted, certificates=certificates, port=server.port)
    finally:
        server.stop()


def test_every_page_comes_over_tls_without_asking_for_a_certificate(tmp_path: Path) -> None:
    """TLS alone: whoever trusts the server reads, as Prometheus and people do."""
    with serving(tmp_path, lambda each: each.open_files) as secure:
        codes = {path: secure.get(path)[0] for path in ("/", "/metrics", "/decisions", "/healthz")}
        assert set(codes.values()) == {200}, codes


@pytest.mark.parametrize("path", ["/", "/metrics", "/decisions", "/nothing"])
def test_with_authorities_pages_are_for_clients_with_a_certificate(
    path: str, tmp_path: Path
) -> None:
    """Without one it is 403 with a way on, also where there is no such page."""
    with serving(tmp_path) as secure:
        code, said = secure.get(path)
        assert (code, "client certificate" in said) == (403, True)
        assert secure.get(path, SCRAPER)[0] == (404 if path == "/nothing" else 200)


def test_probes_need_no_certificate(tmp_path: Path) -> None:
    """A kubelet has none to show, and does not look at ours."""
    with serving(tmp_path) as secure:
        assert secure.get("/healthz") == (200, "ok\n")
        code, body = secure.get("/readyz")
        assert (code, json.loads(body)["status"]) == (503, "starting")
        blind = ssl.create_default_context()
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        found = served(secure.port, blind, say=HEALTH)
        assert found is not None


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(NEW_SCRAPER, id="another authority's"),
        pytest.param(CLIENTS.issue("prometheus", ends=now() - 60), id="expired"),
    ],
)
def test_a_wrong_certificate_gets_nothing_at_all(pair: Pair, tmp_path: Path) -> None:
    """Neither pages nor probes: the handshake fails."""
    with serving(tmp_path) as secure:
        assert secure.greet(pair) is None
        assert secure.greet(SCRAPER) is not None


def test_tls_1_1_is_refused_and_1_2_is_not(tmp_path: Path) -> None:
    """The old client gets through where it is let: see test_handshakes."""
    with serving(tmp_path) as secure:
        old = only_1_1(client_context(SERVERS, SCRAPER))
        assert served(secure.port, old, say=HEALTH) is None
        context = client_context(SERVERS, SCRAPER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        found = served(secure.port, context, say=HEALTH)
        assert found is not None
        assert found.version == "TLSv1.2"


def test_k15_certificates_change_under_an_open_connection(tmp_path: Path) -> None:
    """K15: the open connection goes on, new ones get the new serial and the new authorities."""
    with serving(tmp_path) as secure:
        kept = secure.connection(SCRAPER)
        kept.request("GET", "/metrics")
        kept.getresponse().read()
        assert secure.serial(SCRAPER) == FIRST.serial
        secure.swap(SECOND, NEW_CLIENTS)
        assert (secure.serial(NEW_SCRAPER), secure.serial(SCRAPER)) == (SECOND.serial, None)
        assert secure.serial() == SECOND.serial
        kept.request("GET", "/metrics")
        assert kept.getresponse().status == 200
        kept.close()


def test_k15_no_earlier_session_lets_a_client_of_the_old_authority_in(tmp_path: Path) -> None:
    """K15: a resumed session shows no certificate, so those of before are worth nothing."""
    with serving(tmp_path) as secure:
        context = client_context(SERVERS, SCRAPER)
        first = served(secure.port, context, say=HEALTH)
        assert first is not None
        second = served(secure.port, context, say=HEALTH, session=first.session)
        assert second is not None
        assert second.resumed, "else this proves nothing"
        secure.swap(FIRST, NEW_CLIENTS)
        assert served(secure.port, context, say=HEALTH, session=first.session) is None


def test_bad_files_change_nothing_and_readyz_says_so(tmp_path: Path) -> None:
    """The files and what is wrong with them, while the last good ones serve."""
    with serving(tmp_path) as secure:
        secure.mounted.put({"tls.crt": SECOND.certificate, "tls.key": FIRST.key})
        assert secure.certificates.poll() is not None
        assert secure.serial(SCRAPER) == FIRST.serial
        details = "\n".join(json.loads(secure.get("/readyz")[1])["details"])
        assert "status certificates: refused" in details
        assert "tls.key: it is not the key of" in details
        assert "ca.crt: it can't be read" in details


def test_clients_that_say_nothing_keep_no_probe_out(tmp_path: Path) -> None:
    """Handshakes happen beside each other; of too many connections the oldest ends."""
    with serving(tmp_path) as secure, ExitStack() as open_ones:
        crowd = [
            open_ones.enter_context(
                socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE)
            )
            for _ in range(MAX_CONNECTIONS + 5)
        ]
        assert secure.get("/healthz") == (200, "ok\n")
        assert crowd[0].recv(1) == b"", "the oldest was to make room"


def test_a_plaintext_client_gets_no_page_and_leaves_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is answered in the clear where there are certificates."""
    with serving(tmp_path) as secure:
        with socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE) as client:
            client.sendall(HEALTH)
            with suppress(ConnectionResetError):
                assert b"200" not in client.recv(4096)
        assert secure.get("/healthz") == (200, "ok\n")
    assert "Traceback" not in capfd.readouterr().err


def test_healthz_says_when_the_loop_that_answers_keda_does_not_turn() -> None:
    """A kubelet that can't ask gRPC's health service over TLS asks here."""
    store = Store(policy=PolicyState(policy=Policy()), at=NOW)
    turns = threading.Event()
    server = StatusServer(
        store=store,
        registry=Telemetry().registry,
        clock=lambda: NOW,
        address=Address(host="127.0.0.1", port=0),
        alive=turns.is_set,
    )
    server.start()
    try:
        answers = []
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answers.append((answer.status, answer.read().decode()))
            connection.close()
            turns.set()
    finally:
        server.stop()
    assert answers[0][0] == 503
    assert "does not turn" in answers[0][1]
    assert answers[1] == (200, "ok\n")
