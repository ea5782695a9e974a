"""What a port shows of itself, and whom it lets in: files that were found good."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scaler.core.model import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A certificate with its key, and the authorities that clients are held against."""

    certificate: bytes
    """PEM, the port's own first."""
    key: bytes = field(repr=False)
    """PEM; never shown."""
    client_authorities: bytes | None = None
    """PEM; None: clients need no certificate."""
    serial: str
    """Of the port's own certificate, hexadecimal as openssl prints it."""
    expires: Instant
    """End of the port's own certificate."""
    authorities_expire: Instant | None = None
    """End of the client authority that ends last."""
    context: ssl.SSLContext = field(repr=False, compare=False)
    """Ready for the handshakes of a server."""


def server_context(
    *, certificate: bytes, key: bytes, client_authorities: bytes | None
) -> ssl.SSLContext:
    """Build a context of its own: no session, and no authority, of an earlier one is known to it.

    A client may come without a certificate, and `getpeercert` tells; one with a wrong certificate
    is refused.

    Raises:
        ssl.SSLError: OpenSSL refuses certificate, key or authorities.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with _as_file(certificate + b"\n" + key) as path:
        context.load_cert_chain(path, password=_none)
    if client_authorities is not None:
        context.load_verify_locations(cadata=client_authorities.decode("ascii", "replace"))
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _none() -> bytes:
    """Give no password: without this OpenSSL would ask for one at the terminal, and wait."""
    return b""


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Lend bytes as a file without a name: the context reads files alone.

    What was judged must be what is loaded, and the mounted files may change in between; the root
    file system may be read-only, and no disk should have a key.
    """
    number = _unnamed()
    try:
        with open(number, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(number, 0, os.SEEK_SET)
        yield f"/dev/fd/{number}"
    finally:
        os.close(number)


def _unnamed() -> int:
    if hasattr(os, "memfd_create"):  # Linux
        return os.memfd_create("certificate")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
