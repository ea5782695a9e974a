"""An API server that does not have a group's newest version yet: the real one, with that hidden."""

import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

PASSED_ON = ("Authorization", "Accept", "Content-Type", "User-Agent")
CONNECT = 5.0


class OlderApi:
    """A reverse proxy on loopback that knows nothing of some paths.

    Kueue converts by itself: what is asked in an older version comes as the real Kueue writes it.
    """

    def __init__(self, url: str, *, authority: Path, hidden: tuple[str, ...]) -> None:
        self._server = _Server(url, authority=authority, hidden=hidden)

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, url: str, *, authority: Path, hidden: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.url, self.authority, self.hidden = url, authority, hidden


class _Request(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Pass a request on, its answer as it comes; a watch never ends by itself."""
        path = self.path.split("?", 1)[0]
        if any(path == hidden or path.startswith(f"{hidden}/") for hidden in self.server.hidden):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        length = int(self.headers.get("Content-Length", 0))
        with (
            suppress(OSError),
            requests.request(
                self.command,
                self.server.url + self.path,
                headers={name: self.headers[name] for name in PASSED_ON if name in self.headers},
                data=self.rfile.read(length) or None,
                verify=str(self.server.authority),
                stream=True,
                timeout=(CONNECT, None),
            ) as answer,
        ):
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.end_headers()
            for part in answer.iter_content(chunk_size=None):
                self.wfile.write(part)
                self.wfile.flush()

    do_POST = do_PATCH = do_GET  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""
