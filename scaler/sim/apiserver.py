"""The Kubernetes API of the embedded cluster: HTTP on 127.0.0.1, no more than peers of it use."""

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scaler.sim import kinds, writes
from scaler.sim.faults import Faults
from scaler.sim.lists import Lists
from scaler.sim.objects import ConflictError, NotFoundError, Objects, StaleError
from scaler.sim.patches import Document
from scaler.sim.requests import Request, parse
from scaler.sim.scale import scale_of
from scaler.sim.watches import TOO_OLD, Watches, failure

ASKED = 10_000
"""Requests that are remembered."""


class ApiServer:
    """Serve the objects; `faults` can be switched at any time."""

    def __init__(
        self,
        *,
        objects: Objects,
        faults: Faults | None = None,
        token: str | None = None,
        bookmark_every: float = 1.0,
    ) -> None:
        self.objects = objects
        self.faults = faults or Faults()
        self.token = token
        self.asked: deque[str] = deque(maxlen=ASKED)
        """Method, path and query of the latest requests, oldest first."""
        self.lists = Lists(objects=objects)
        self.watches = Watches(objects=objects, faults=self.faults, bookmark_every=bookmark_every)
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="sim-api", daemon=True
        )

    @property
    def url(self) -> str:
        """Give the address, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Listen from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End all watches and close the port."""
        self.watches.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig whose current context is this server."""
        user: Document = {"token": self.token} if self.token else {}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "sim",
            "clusters": [{"name": "sim", "cluster": {"server": self.url}}],
            "users": [{"name": "sim", "user": user}],
            "contexts": [{"name": "sim", "context": {"cluster": "sim", "user": "sim"}}],
        }
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        return path


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, api: ApiServer) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.api = api

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


class _Conversation(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Log nothing: a demo's terminal is for its timeline."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._create)

    def do_PUT(self) -> None:
        self._answer(self._replace)

    def do_PATCH(self) -> None:
        self._answer(self._patch)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def _answer(self, reply: Callable[[Request], None]) -> None:
        api = self.server.api
        api.asked.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._body: Any = json.loads(body) if body else None
        if api.faults.down:
            self._hang_up()
            return
        if api.token and self.headers.get("Authorization") != f"Bearer {api.token}":
            self._fail(HTTPStatus.UNAUTHORIZED, "Unauthorized")
            return
        request = parse(
            self.path, accept=self.headers.get("Accept", ""), resources=api.objects.resources
        )
        if request is None:
            self._discover()
        elif request.resource.plural in api.faults.forbidden:
            self._fail(HTTPStatus.FORBIDDEN, f'cannot list resource "{request.resource.plural}"')
        elif self._unwritable(request):
            said = f'cannot patch resource "{request.resource.plural}"'
            self._fail(HTTPStatus.FORBIDDEN, said)
        else:
            self._attempt(reply, request)

    def _unwritable(self, request: Request) -> bool:
        plurals = self.server.api.faults.unwritable
        own = request.part != "status"
        return self.command != "GET" and own and request.resource.plural in plurals

    def _attempt(self, reply: Callable[[Request], None], request: Request) -> None:
        try:
            reply(request)
        except NotFoundError as error:
            self._fail(HTTPStatus.NOT_FOUND, str(error))
        except ConflictError as error:
            self._send(HTTPStatus.CONFLICT, failure(409, "AlreadyExists", str(error)))
        except StaleError as error:
            self._send(HTTPStatus.CONFLICT, failure(409, "Conflict", str(error)))
        except writes.RefusedError as error:
            self._send(error.status, failure(error.status.value, error.reason, str(error)))

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    # --- reads ---------------------------------------------------------------------------------

    def _discover(self) -> None:
        resources = self.server.api.objects.resources.values()
        match urlsplit(self.path).path.strip("/").split("/"):
            case ["api"] if self.command == "GET":
                answer: Document | None = {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                answer = kinds.groups(resources)
            case ["version"]:
                answer = {"major": "1", "minor": "37", "gitVersion": "v1.37.2-sim"}
            case ["api", version]:
                answer = kinds.resource_list(resources, group="", version=version)
            case ["apis", group, version]:
                answer = kinds.resource_list(resources, group=group, version=version)
            case _:
                answer = None
        if answer is None:
            self._fail(HTTPStatus.NOT_FOUND, "the server could not find the requested resource")
        else:
            self._send(HTTPStatus.OK, answer)

    def _get(self, request: Request) -> None:
        api = self.server.api
        if request.name is not None:
            document = self._found(request)
            scaled = scale_of(document) if request.part == "scale" else request.served(document)
            self._send(HTTPStatus.OK, scaled)
        elif request.query.get("watch") in ("true", "1"):
            self._watch(request)
        else:
            time.sleep(api.faults.list_delay)
            expires = "continue" in request.query and api.faults.expires(request.resource.plural)
            page = None if expires else api.lists.page(request)
            if page is None:
                self._send(HTTPStatus.GONE, failure(410, "Expired", "the continue token expired"))
            else:
                self._send(HTTPStatus.OK, page)

    def _watch(self, request: Request) -> None:
        watches = self.server.api.watches
        if watches.refused(request):
            self._send(HTTPStatus.GONE, failure(410, "Expired", TOO_OLD))
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        faults, plural = self.server.api.faults, request.resource.plural
        if plural in faults.said:
            self._chunk(faults.said.pop(plural))
        if plural not in faults.hollow:
            self._stream(watches.stream(request))
        if self.server.api.faults.down:
            self._hang_up()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _stream(self, events: Iterable[Document | None]) -> None:
        for event in events:
            if event is None:
                if self._client_left():
                    return
                continue
            self._chunk(json.dumps(event).encode() + b"\n")

    def _chunk(self, line: bytes) -> None:
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _client_left(self) -> bool:
        ready, _, _ = select.select([self.connection], [], [], 0)
        return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _found(self, request: Request) -> Document:
        document = self.server.api.objects.get(request.resource.plural, request.key)
        if document is None:
            raise NotFoundError(f'{request.resource.qualified} "{request.name}" not found')
        return document

    # --- writes --------------------------------------------------------------------------------

    def _create(self, request: Request) -> None:
        document: Document = dict(self._body or {})
        document["metadata"] = dict(document.get("metadata") or {})
        if request.resource.status:
            document.pop("status", None)
        if request.namespace:
            document["metadata"].setdefault("namespace", request.namespace)
        created = self.server.api.objects.create(request.resource.plural, document)
        self._send(HTTPStatus.CREATED, request.served(created))

    def _replace(self, request: Request) -> None:
        self._write(request, writes.replacing(self._body or {}, resource=request.resource))

    def _patch(self, request: Request) -> None:
        content_type = self.headers.get("Content-Type", "")
        self._write(request, writes.patching(self._body, content_type=content_type))

    def _write(self, request: Request, change: Callable[[Document], Document]) -> None:
        def write(document: Document) -> None:
            writes.write(document, change, resource=request.resource, part=request.part)

        after = self.server.api.objects.modify(request.resource.plural, request.key, write)
        scaled = scale_of(after) if request.part == "scale" else request.served(after)
        self._send(HTTPStatus.OK, scaled)

    def _delete(self, request: Request) -> None:
        gone = self.server.api.objects.end(request.resource.plural, request.key)
        self._send(HTTPStatus.OK, request.served(gone))

    # --- answers -------------------------------------------------------------------------------

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._send(status, failure(status.value, status.phrase.replace(" ", ""), message))

    def _send(self, status: HTTPStatus, document: Document) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
