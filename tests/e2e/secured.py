"""An installation over mTLS, its Secrets and KEDA's, and clients of any authority."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from tests.e2e.api import Object
from tests.e2e.busy import Busy, aging, busy
from tests.e2e.deployed import example, one
from tests.e2e.service import Installation
from tests.e2e.stack import service_name
from tests.e2e.waiting import until
from tests.e2e.world import World
from tests.handshakes import Served, served
from tests.issuer import Issuer, Pair, client_context

INSTALLATION = "secured"
EXAMPLE = "mtls.yaml"
SERVER, CLIENT = "kueue-gpu-scaler-server", "kueue-gpu-scaler-client"
"""The Secrets, as deploy/ names them."""
CLUSTER_WIDE, NAMESPACED = "ClusterTriggerAuthentication", "TriggerAuthentication"
KEDA = "keda"
TARGETS = 4
LOOKED = 30.0
"""Seconds for swapped files to be looked at: the service looks each 2 s."""


@dataclass(slots=True, kw_only=True)
class Secured:
    """Targets that KEDA asks about over mTLS, and who signs for whom."""

    lot: Busy
    servers: Issuer
    clients: Issuer
    """Signed the certificate that KEDA has now."""
    keda: Pair
    serial: str
    """Of the certificate that the service was given last."""

    def give(self, pair: Pair, *clients: Issuer, key: bytes | None = None) -> float:
        """Give the service another Secret; gives the monotonic time of the swap."""
        wanted = secret(SERVER, INSTALLATION, pair, *clients)
        if key is not None:
            wanted["data"]["tls.key"] = _base64(key)
        self.lot.world.api.apply(wanted)
        for replica in self.lot.service.replicas:
            for each in replica.secrets:
                assert each.sync(), "the files were not swapped"
        return time.monotonic()

    def give_keda(self, pair: Pair) -> None:
        """Give KEDA another Secret, in its own namespace and in the targets'."""
        for namespace in (KEDA, self.lot.namespace):
            self.lot.world.api.apply(secret(CLIENT, namespace, pair, self.servers))

    def server_certificate(self) -> Pair:
        """Sign another one for the service."""
        return self.servers.issue("server", names=[service_name(INSTALLATION), "localhost"])

    def greet(self, pair: Pair | None, replica: int = 0) -> Served | None:
        """Shake hands with a replica as a client would; None where it refuses."""
        port = self.lot.service.replicas[replica].backend.grpc
        return served(port, client_context(self.servers, pair))

    def seconds_until(
        self, look: Callable[[Served | None], bool], pair: Pair, since: float
    ) -> float:
        """Wait until a handshake with each replica is as wanted; give the seconds since a time."""
        for number in range(len(self.lot.service.replicas)):
            seen = partial(self._seen, look, pair, number)
            what = f"replica {number} has taken the certificates over"
            until(seen, what, within=LOOKED, every=0.05)
        return time.monotonic() - since

    def _seen(self, look: Callable[[Served | None], bool], pair: Pair, replica: int) -> bool:
        return look(self.greet(pair, replica))


@contextmanager
def secured(world: World, name: str) -> Iterator[Secured]:
    """Install the overlay and have KEDA ask about targets by the example; end all on leaving.

    Of every two targets one has the shipped ClusterTriggerAuthentication, the other one a
    TriggerAuthentication of its own namespace with the same words.
    """
    servers, clients = Issuer(name="servers"), Issuer(name="clients")
    pair = servers.issue("server", names=[service_name(INSTALLATION), "localhost"])
    keda = clients.issue("keda")
    there = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": INSTALLATION}}
    world.api.apply(there, secret(SERVER, INSTALLATION, pair, clients))
    world.api.apply(secret(CLIENT, KEDA, keda, servers), one(example(EXAMPLE), CLUSTER_WIDE))

    def reference(namespace: str, number: int) -> Object:
        if number // 2 % 2 == 0:
            return _reference()
        world.api.apply(secret(CLIENT, namespace, keda, servers), _namespaced(namespace))
        return {**_reference(), "kind": NAMESPACED}

    with busy(
        world,
        name,
        installation=INSTALLATION,
        targets=TARGETS,
        alter=_altered,
        authentication=reference,
    ) as lot:
        yield Secured(lot=lot, servers=servers, clients=clients, keda=keda, serial=pair.serial)


def secret(name: str, namespace: str, pair: Pair, *authorities: Issuer) -> Object:
    """Write a Secret in the form of cert-manager's."""
    content: Mapping[str, bytes] = {
        "tls.crt": pair.certificate,
        "tls.key": pair.key,
        "ca.crt": b"".join(each.pem for each in authorities),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: _base64(text) for key, text in content.items()},
    }


def _altered(service: Installation) -> None:
    service.secure()
    aging(service)


def _reference() -> Object:
    """Give the example's authenticationRef."""
    (trigger,) = one(example(EXAMPLE), "ScaledObject")["spec"]["triggers"]
    found: Object = trigger["authenticationRef"]
    return found


def _namespaced(namespace: str) -> Object:
    wanted = one(example(EXAMPLE), CLUSTER_WIDE)
    metadata = {**wanted["metadata"], "namespace": namespace}
    return {**wanted, "kind": NAMESPACED, "metadata": metadata}


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
