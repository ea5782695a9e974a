"""Serve a LoopbackApi over HTTP."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from scaler.core.model import Kind
from tests.kube.apiserver import PATIENCE, Asked, Hang, LoopbackApi, Refuse, Say
from tests.kube.documents import Document, line


@contextmanager
def running(kind: Kind = Kind.WORKLOADS) -> Iterator[LoopbackApi]:
    """Serve for the length of a test."""
    api = LoopbackApi(kind)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _answering(api))
    http.daemon_threads = True
    api.port = int(http.server_address[1])
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.close()
        http.shutdown()
        http.server_close()
        thread.join(PATIENCE)


def _answering(server: LoopbackApi) -> type[BaseHTTPRequestHandler]:
    class Answer(_Answer):
        api = server

    return Answer


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: LoopbackApi

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is given
        """Say nothing."""

    def do_GET(self) -> None:
        self.close_connection = self.close_connection or self.api.closing
        with suppress(ConnectionError):
            if not self.api.closing:
                self._get()

    def do_POST(self) -> None:
        self._write()

    def do_PATCH(self) -> None:
        self._write()

    def _asked(self, verb: str) -> Asked:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        headers = {key.lower(): value for key, value in self.headers.items()}
        return Asked(verb, query, headers, url.path)

    def _get(self) -> None:
        asked = self._asked(self._verb())
        fault = self.api.note(asked)
        allowed = self.api.allowed
        if allowed is not None and asked.headers.get("authorization") != allowed:
            fault = Refuse(status=401, message="Unauthorized")
        match fault:
            case Refuse():
                self._refuse(fault)
            case Say(body=body, hold=hold):
                self._say(body, hold=hold)
            case Hang():
                self._hold()
            case None:
                self._serve(asked)

    def _verb(self) -> str:
        if not self.path.split("?")[0].endswith(f"/{self.api.resource.plural}"):
            return "discover"
        if "watch=true" in self.path:
            return "watch"
        return "page" if "continue=" in self.path else "list"

    def _serve(self, asked: Asked) -> None:
        version = asked.path.split("/")[3 if asked.path.startswith("/apis/") else 2]
        if version not in self.api.served:
            self._refuse(Refuse(status=404, message="the server could not find it"))
        elif asked.verb == "discover":
            plural = self.api.resource.plural
            self._json({"kind": "APIResourceList", "resources": [{"name": plural}]})
        elif asked.verb == "watch":
            self._watch(asked)
        else:
            self._list(asked)

    def _list(self, asked: Asked) -> None:
        with self.api.changed:
            shelf = self.api.shelf
            at, rest = shelf.version, list(shelf.objects.values())
            if "continue" in asked.query:
                at, rest = shelf.pages[asked.query["continue"]]
            size = int(asked.query.get("limit", "1000000"))
            meta: Document = {"resourceVersion": str(at)}
            if rest[size:]:
                meta["continue"] = f"token-{len(shelf.pages)}"
                shelf.pages[meta["continue"]] = (at, rest[size:])
        kind = f"{self.api.resource.object_kind}List"
        self._json({"kind": kind, "metadata": meta, "items": rest[:size]})

    def _watch(self, asked: Asked) -> None:
        api, at = self.api, int(asked.query["resourceVersion"])
        if at < api.shelf.compacted:
            self._refuse(Refuse(status=410, message="too old resource version"))
            return
        self._begin()
        while not api.closing:
            for version, kind, document in api.after(at):
                self._chunk(line(kind, document))
                at = version
        self.close_connection = True

    # --- bytes ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()

    def _chunk(self, body: bytes) -> None:
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        self.wfile.flush()

    def _say(self, body: bytes, *, hold: bool) -> None:
        self._begin()
        if body:
            self._chunk(body)
        if hold:
            self._hold()
            return
        self.wfile.write(b"0\r\n\r\n")

    def _hold(self) -> None:
        with self.api.changed:
            self.api.changed.wait_for(lambda: self.api.closing, timeout=PATIENCE)
        self.close_connection = True

    def _json(self, document: Document, status: int = 200, retry_after: str | None = None) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, fault: Refuse) -> None:
        status = {"kind": "Status", "code": fault.status, "message": fault.message}
        self._json(status, fault.status, fault.retry_after)

    def _write(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.api.note(self._asked("write"))
        if isinstance(fault, Refuse):
            self._refuse(fault)
            return
        with self.api.changed:
            self.api.written.append((self.command, self.path, body))
        self._json(body, 201 if self.command == "POST" else 200)
