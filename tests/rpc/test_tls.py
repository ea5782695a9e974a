"""TLS and mTLS towards KEDA, with certificates that change while streams are open."""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from scaler.certificates import Certificates, Port
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from tests.handshakes import Served, served
from tests.issuer import Issuer, Key, Mounted, Pair, client_context, now, only_1_1
from tests.rpc.fakes import Peer, channel_to, code_of, make_decision, serving

PATIENCE = 30.0
SERVERS, CLIENTS, NEW_CLIENTS = (Issuer(name=name) for name in ("servers", "clients", "new"))
FIRST, SECOND = SERVERS.issue("first"), SERVERS.issue("second")
KEDA, NEW_KEDA = CLIENTS.issue("keda"), NEW_CLIENTS.issue("keda")


def credentials(pair: Pair | None) -> grpc.ChannelCredentials:
    """Give what KEDA dials with."""
    if pair is None:
        return grpc.ssl_channel_credentials(SERVERS.pem)
    return grpc.ssl_channel_credentials(SERVERS.pem, pair.key, pair.certificate)


class Mutual:
    """A server with mTLS, its files, and KEDA's channel to it."""

    def __init__(self, folder: Path) -> None:
        self.mounted = Mounted(folder)
        self.mounted.swap(FIRST, CLIENTS)
        self.certificates = Certificates(Port.GRPC, self.mounted.files, clock=now)

    def run(self, test: Callable[[Peer], Awaitable[None]]) -> None:
        """Run a test against it."""

        async def body() -> None:
            async with serving(
                certificates=self.certificates, credentials=credentials(KEDA)
            ) as peer:
                peer.publish(make_decision(peer.ref(), active=True, value=3))
                await asyncio.wait_for(test(peer), PATIENCE)

        asyncio.run(body())

    def swap(self, pair: Pair, *authorities: Issuer) -> None:
        """Swap the files and have them looked at."""
        self.mounted.swap(pair, *authorities)
        assert self.certificates.poll() is not None


async def greeted(peer: Peer, pair: Pair | None) -> Served | None:
    """Connect anew as a plain TLS client."""
    context = client_context(SERVERS, pair)
    return await asyncio.to_thread(served, peer.port, context)


async def serial(peer: Peer, pair: Pair) -> str | None:
    """Give the serial number that a new connection is served; None where it is refused."""
    found = await greeted(peer, pair)
    return found.serial if found else None


def test_keda_with_the_right_certificate_gets_its_answers(tmp_path: Path) -> None:
    """Polls and the stream go over one connection, as without TLS."""

    async def test(peer: Peer) -> None:
        assert (await peer.metrics()).metricValues[0].metricValue == 3
        stream = peer.stub.StreamIsActive(peer.request())
        assert (await anext(aiter(stream))).result
        stream.cancel()

    Mutual(tmp_path).run(test)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(None, id="no certificate"),
        pytest.param(NEW_KEDA, id="another authority's"),
        pytest.param(SERVERS.issue("keda"), id="of the authority that signed the server's"),
        pytest.param(CLIENTS.issue("keda", ends=now() - 60), id="expired"),
    ],
)
def test_a_client_without_a_right_certificate_is_refused(pair: Pair | None, tmp_path: Path) -> None:
    """It gets no answer, not even that of the health service."""

    async def test(peer: Peer) -> None:
        assert await greeted(peer, pair) is None
        async with channel_to(peer.port, credentials(pair)) as channel:
            stub = pb_grpc.ExternalScalerStub(channel)
            code, _ = await code_of(lambda: stub.IsActive(peer.request()))
            assert code is grpc.StatusCode.UNAVAILABLE
        assert await peer.active()

    Mutual(tmp_path).run(test)


def test_a_plaintext_client_is_refused(tmp_path: Path) -> None:
    """Nothing is answered in the clear where there are certificates."""

    async def test(peer: Peer) -> None:
        async with channel_to(peer.port, None) as channel:
            stub = pb_grpc.ExternalScalerStub(channel)
            code, _ = await code_of(lambda: stub.IsActive(peer.request()))
            assert code is grpc.StatusCode.UNAVAILABLE

    Mutual(tmp_path).run(test)


def test_tls_alone_asks_no_client_for_a_certificate(tmp_path: Path) -> None:
    """Without authorities of clients everyone who trusts the server is answered."""
    mounted = Mounted(tmp_path)
    mounted.swap(FIRST, CLIENTS)
    certificates = Certificates(Port.GRPC, mounted.open_files, clock=now)

    async def body() -> None:
        async with serving(certificates=certificates, credentials=credentials(None)) as peer:
            peer.publish(make_decision(peer.ref(), active=True, value=3))
            assert await peer.active()

    asyncio.run(body())


def test_tls_1_1_is_refused_and_1_2_is_not(tmp_path: Path) -> None:
    """The old client gets through where it is let, so it is the server that refuses it."""

    async def test(peer: Peer) -> None:
        old = only_1_1(client_context(SERVERS, KEDA))
        assert await asyncio.to_thread(served, peer.port, old) is None
        context = client_context(SERVERS, KEDA)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        found = await asyncio.to_thread(served, peer.port, context)
        assert found is not None
        assert found.version == "TLSv1.2"

    Mutual(tmp_path).run(test)


def test_k15_certificates_and_client_authorities_change_without_cutting_a_stream(
    tmp_path: Path,
) -> None:
    """K15: new connections get the new serial, clients of the old authority are refused at once.

    The stream that was open goes on, and so do calls on its connection.
    """
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=False, value=0))
        stream = peer.stub.StreamIsActive(peer.request())
        pushed = aiter(stream)
        await peer.active()  # on the connection of the first certificates
        assert await serial(peer, KEDA) == FIRST.serial
        mutual.swap(SECOND, NEW_CLIENTS)
        assert await serial(peer, NEW_KEDA) == SECOND.serial
        assert await serial(peer, KEDA) is None
        peer.publish(make_decision(peer.ref(), active=True, value=1))
        assert (await anext(pushed)).result
        assert not stream.done()
        assert await peer.active()
        stream.cancel()

    mutual.run(test)


def test_k15_authorities_are_replaced_not_added_to(tmp_path: Path) -> None:
    """K15: with both in the bundle both come in; one that is taken out is out, also by itself."""
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        mutual.swap(FIRST, CLIENTS, NEW_CLIENTS)
        assert await serial(peer, KEDA) == await serial(peer, NEW_KEDA) == FIRST.serial
        mutual.swap(FIRST, NEW_CLIENTS)
        assert (await serial(peer, KEDA), await serial(peer, NEW_KEDA)) == (None, FIRST.serial)
        mutual.swap(FIRST, CLIENTS)
        assert (await serial(peer, KEDA), await serial(peer, NEW_KEDA)) == (FIRST.serial, None)

    mutual.run(test)


def test_k15_no_earlier_session_lets_a_client_of_the_old_authority_in(tmp_path: Path) -> None:
    """K15: a resumed session shows no certificate, so those of before are worth nothing."""
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        context = client_context(SERVERS, KEDA)

        async def again(session: ssl.SSLSession | None) -> Served | None:
            return await asyncio.to_thread(served, peer.port, context, session=session)

        first = await again(None)
        assert first is not None
        second = await again(first.session)
        assert second is not None
        assert second.resumed, "else this proves nothing"
        mutual.swap(FIRST, NEW_CLIENTS)
        assert await again(first.session) is None

    mutual.run(test)


def test_bad_files_change_nothing(tmp_path: Path) -> None:
    """Clients are served as before, by the certificates of before."""
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        for contents in (
            {"tls.crt": SECOND.certificate, "tls.key": FIRST.key, "ca.crt": CLIENTS.pem},
            {"tls.crt": SECOND.certificate[:99], "tls.key": SECOND.key, "ca.crt": CLIENTS.pem},
            {"tls.crt": SECOND.certificate, "tls.key": SECOND.key, "ca.crt": b""},
            {},
        ):
            mutual.mounted.put(contents)
            assert mutual.certificates.poll() is not None
            assert mutual.certificates.state.problems
            assert await serial(peer, KEDA) == FIRST.serial
            assert await serial(peer, NEW_KEDA) is None

    mutual.run(test)


KEYS: tuple[Callable[[], Key], ...] = (
    lambda: rsa.generate_private_key(65537, 2048),
    lambda: ec.generate_private_key(ec.SECP384R1()),
    lambda: ec.generate_private_key(ec.SECP521R1()),
    ed25519.Ed25519PrivateKey.generate,
)


def test_every_kind_of_key_that_is_allowed_is_served(tmp_path: Path) -> None:
    """What gRPC's TLS can't take it leaves unsaid, and stays with what it has."""
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        for make in KEYS:
            pair = SERVERS.issue("server", key=make())
            mutual.swap(pair, CLIENTS)
            assert await serial(peer, KEDA) == pair.serial

    mutual.run(test)


def test_a_handshake_waits_for_no_event_loop(tmp_path: Path) -> None:
    """Certificates are asked for in gRPC's threads: no busy loop keeps a client out."""
    mutual = Mutual(tmp_path)

    async def test(peer: Peer) -> None:
        mutual.swap(SECOND, CLIENTS)
        context = client_context(SERVERS, KEDA)
        done: list[Served | None] = []
        client = threading.Thread(target=lambda: done.append(served(peer.port, context)))
        client.start()
        client.join(PATIENCE)  # the loop stands still meanwhile
        assert [found.serial for found in done if found] == [SECOND.serial]

    mutual.run(test)


def test_a_loop_that_stands_still_is_told() -> None:
    """Where no probe can ask gRPC's health service, /healthz asks this."""

    async def body() -> None:
        async with serving() as peer:
            assert await asyncio.to_thread(peer.server.turns)
            answers: list[bool] = []
            asking = threading.Thread(target=lambda: answers.append(peer.server.turns(within=0.01)))
            asking.start()
            asking.join(PATIENCE)  # the loop stands still meanwhile
            assert answers == [False]

    asyncio.run(body())
