"""The API server behind a proxy that may hide, narrow, count and interrupt."""

import threading
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

PASSED_ON = ("Authorization", "Accept", "Content-Type", "User-Agent")
CONNECT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A request that changed something, or was refused."""

    method: str
    path: str
    body: bytes
    status: int


class Reverse:
    """A reverse proxy on loopback; whatever it is not told to change it passes on as it is."""

    def __init__(self, url: str, *, authority: Path) -> None:
        self._server = _Server(url, authority=authority, rules=self)

    @property
    def url(self) -> str:
        """Give where it answers, over plain HTTP."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Answer from now on."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def hides(self, path: str) -> bool:  # noqa: ARG002 - for those that hide something
        """Say whether there is nothing at a path."""
        return False

    def asks(self, target: str) -> str:
        """Give the path and query that the API server is asked for in place of these."""
        return target

    def wrote(self, write: Write) -> None:
        """Hear of a write that is done, before its answer is given."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, url: str, *, authority: Path, rules: Reverse) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.url, self.authority, self.rules = url, authority, rules


class _Request(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Pass a request on, its answer as it comes; a watch never ends by itself."""
        if self.server.rules.hides(self.path.split("?", 1)[0]):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with (
            suppress(OSError),
            requests.request(
                self.command,
                self.server.url + self.server.rules.asks(self.path),
                headers={name: self.headers[name] for name in PASSED_ON if name in self.headers},
                data=body or None,
                verify=str(self.server.authority),
                stream=True,
                timeout=(CONNECT, None),
            ) as answer,
        ):
            if self.command != "GET":
                self.server.rules.wrote(
                    Write(
                        method=self.command,
                        path=self.path.split("?", 1)[0],
                        body=body,
                        status=answer.status_code,
                    )
                )
            self._answer(answer)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - http.server's names

    def _answer(self, answer: requests.Response) -> None:
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.end_headers()
        for part in answer.iter_content(chunk_size=None):
            self.wfile.write(part)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""
