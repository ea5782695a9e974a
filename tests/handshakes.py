"""Handshakes with a port as a plain TLS client has them, down to the certificate that is served."""

import socket
import ssl
from dataclasses import dataclass

from cryptography import x509

HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What a gRPC client begins with: the preface, and empty SETTINGS."""
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PATIENCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A connection on which the server has answered."""

    serial: str
    version: str | None
    resumed: bool | None
    session: ssl.SSLSession | None


def served(
    port: int, context: ssl.SSLContext, *, say: bytes = HTTP2, session: ssl.SSLSession | None = None
) -> Served | None:
    """Shake hands and say something; None where the server refuses before it answers.

    In TLS 1.3 a client learns only then that its certificate was refused.
    """
    if say is HTTP2:
        context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as tls:
                tls.sendall(say)
                return _served(tls) if tls.recv(4096) else None
        except ssl.SSLCertVerificationError:
            raise  # the client's own refusal
        except (ssl.SSLError, ConnectionError):
            return None


def _served(tls: ssl.SSLSocket) -> Served:
    shown = tls.getpeercert(binary_form=True)
    assert shown is not None
    return Served(
        serial=f"{x509.load_der_x509_certificate(shown).serial_number:X}",
        version=tls.version(),
        resumed=tls.session_reused,
        session=tls.session,
    )
