"""The HTTP side of an exporter: what Prometheus scrapes."""

from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exporter(Protocol):
    """Whoever knows what there is to tell."""

    def scrape(self) -> tuple[HTTPStatus, str]:
        """Answer a scrape of `/metrics`."""
        ...

    def scrape_newer(self) -> str:
        """Answer a scrape of `/metrics/4.9`."""
        ...

    def scrape_serving(self) -> str:
        """Answer a scrape of `/metrics/serving`."""
        ...


class ScrapeServer(ThreadingHTTPServer):
    """A server on loopback, at any free port."""

    daemon_threads = True

    def __init__(self, exporter: Exporter) -> None:
        super().__init__(("127.0.0.1", 0), _Scrape)
        self.exporter = exporter


class _Scrape(BaseHTTPRequestHandler):
    server: ScrapeServer

    def do_GET(self) -> None:
        """Answer with metrics, or as the faults have it."""
        match self.path:
            case "/metrics":
                status, text = self.server.exporter.scrape()
            case "/metrics/4.9":
                status, text = HTTPStatus.OK, self.server.exporter.scrape_newer()
            case "/metrics/serving":
                status, text = HTTPStatus.OK, self.server.exporter.scrape_serving()
            case _:
                status, text = HTTPStatus.NOT_FOUND, ""
        with suppress(ConnectionError):
            self._answer(status, text.encode())

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Log nothing: scrapes come every few seconds."""
