"""An API server with a version hidden is the same otherwise."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import requests

from tests.e2e.certificates import make_certificates
from tests.e2e.older import OlderApi

HIDDEN = "/apis/kueue.x-k8s.io/v1beta2"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked, in two parts."""

    def do_GET(self) -> None:
        """Say method, path and token."""
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.wfile.write(f"{self.command} {self.path} ".encode())
        self.wfile.write(f"{self.headers['Authorization']} {body}".encode())

    do_PATCH = do_GET  # noqa: N815 - http.server's name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@contextmanager
def echoing(folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the address of such a server and the authority that it shows."""
    made = make_certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.path("tls.crt"), made.path("tls.key"))
    server = HTTPServer(("127.0.0.1", 0), Echo)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}", made.authority
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def older(tmp_path: Path) -> Iterator[OlderApi]:
    """Give it, in front of an echo."""
    with echoing(tmp_path / "certs") as (url, authority):
        running = OlderApi(url, authority=authority, hidden=(HIDDEN,))
        running.start()
        yield running
        running.stop()


def test_others_pass_through(older: OlderApi) -> None:
    """Method, query, token and body reach the server, status and text come back."""
    answer = requests.patch(
        f"{older.url}/api/v1/pods?watch=true",
        data="{}",
        headers={"Authorization": "Bearer t"},
        timeout=10,
    )
    assert answer.status_code == 201
    assert answer.text == "PATCH /api/v1/pods?watch=true Bearer t {}"


@pytest.mark.parametrize("path", [HIDDEN, f"{HIDDEN}/workloads", f"{HIDDEN}?timeout=1s"])
def test_a_hidden_version_is_not_there(older: OlderApi, path: str) -> None:
    """Neither in discovery nor by its lists."""
    assert requests.get(older.url + path, timeout=10).status_code == 404


def test_only_that_version_is_hidden(older: OlderApi) -> None:
    """A longer name is another one."""
    assert requests.get(f"{older.url}{HIDDEN}x", timeout=10).status_code == 201
