"""The client that is refused elsewhere gets through where it may: a refusal is the server's."""

import socket
import ssl
import threading
from pathlib import Path

from tests.handshakes import HEALTH, served
from tests.issuer import Issuer, client_context, only_1_1

AUTHORITY = Issuer(name="authority")
PAIR = AUTHORITY.issue("server")


def test_a_server_that_allows_tls_1_1_is_reached_by_it(tmp_path: Path) -> None:
    """OpenSSL still speaks it at its lowest level of security."""
    file = tmp_path / "pair.pem"
    file.write_bytes(PAIR.certificate + PAIR.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    only_1_1(context)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            accepted, _ = listening.accept()
            with context.wrap_socket(accepted, server_side=True) as tls:
                tls.recv(4096)
                tls.sendall(b"hello")

        thread = threading.Thread(target=answer)
        thread.start()
        port = listening.getsockname()[1]
        found = served(port, only_1_1(client_context(AUTHORITY)), say=HEALTH)
        thread.join()
    assert found is not None
    assert (found.version, found.serial) == ("TLSv1.1", PAIR.serial)
