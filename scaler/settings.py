"""The process's own settings, as the command line gives them."""

from dataclasses import dataclass
from pathlib import Path

MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A host and a TCP port to listen on; port 0 = any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`, `[V6]:PORT` or `:PORT` (all interfaces).

        Raises:
            ValueError: a sentence that says what is allowed.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > MAX_PORT:
            raise ValueError(f"{text!r} is no address; HOST:PORT with a port of 0-65535 is allowed")
        every = "0.0.0.0"  # noqa: S104 - in a pod the service is reached from outside
        return cls(host=host.strip("[]") or every, port=int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """Where a port's certificate and key are, and the authorities of its clients; PEM files."""

    certificate: Path
    """The port's own certificate first, then those between it and its authority."""
    key: Path
    client_authorities: Path | None = None
    """None: clients need no certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """What every process that decides needs to know before it starts."""

    policy: Path
    status: Address
    status_certificates: CertificateFiles | None = None
    """None: plain HTTP."""
    kubeconfig: str | None = None
    """None: in-cluster where there is a service account, else the default kubeconfig."""
    context: str | None = None
    """A context of the kubeconfig; None: the current one."""
    tick_seconds: float = 5.0
    """All triggers are decided anew this often, since delays and ages run by themselves."""
    policy_poll_seconds: float = 2.0
    certificate_poll_seconds: float = 2.0
    pod: tuple[str, str, str] | None = None
    """Namespace, name and uid of our own pod, on which Events about the policy are written."""
    watch_read_timeout: float = 60.0
    """Seconds without a byte after which a watch is taken for dead; bookmarks come each minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(SourceSettings):
    """What `serve` needs to know before it starts."""

    grpc: Address
    grpc_certificates: CertificateFiles | None = None
    """None: plaintext."""
    drain_seconds: float = 0.0
    """After the signal to stop: not ready, yet still answering, so that endpoints can follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActuatorSettings(SourceSettings):
    """What `actuate` needs to know before it starts."""

    lease_namespace: str
    lease_name: str
    """The Lease by which one of several actuators leads."""
