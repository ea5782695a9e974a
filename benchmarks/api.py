"""A Kubernetes API in a process of its own: pages made ahead, watches held open, writes on command.

It does as little as it can while it is measured against: an answer is bytes that lie ready.
"""

import json
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks import objects
from benchmarks.objects import Fleet
from scaler.core.model import Kind
from scaler.kube.listing import PAGE_SIZE
from scaler.kube.resources import RESOURCES, Resource

VERSION = "1000000"
_PATH = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/(?P<plural>[^/]+))?")


@dataclass(slots=True)
class Shelf:
    """One kind: its list in pages, and the watches that are open."""

    pages: list[bytes]
    watches: list["_Answer"] = field(default_factory=list)


def shelves(fleet: Fleet) -> dict[Kind, Shelf]:
    """Make the lists of all kinds."""
    queues = range(fleet.queues)
    found: dict[Kind, Iterator[bytes]] = {
        Kind.WORKLOADS: objects.workloads(fleet),
        Kind.RESOURCE_FLAVORS: iter((json.dumps(objects.resource_flavor()).encode(),)),
    }
    for kind, make in (
        (Kind.CLUSTER_QUEUES, objects.cluster_queue),
        (Kind.LOCAL_QUEUES, objects.local_queue),
        (Kind.SCALED_OBJECTS, objects.scaled_object),
        (Kind.HPAS, objects.hpa),
    ):
        wanted = range(fleet.triggers) if kind is Kind.SCALED_OBJECTS else queues
        found[kind] = iter([json.dumps(make(fleet, queue)).encode() for queue in wanted])
    return {
        kind: Shelf(list(_pages(resource, found.get(kind, iter(())))))
        for kind, resource in RESOURCES.items()
    }


def _pages(resource: Resource, items: Iterator[bytes]) -> Iterator[bytes]:
    """Cut a list into pages; each but the last names the next by its number."""
    page, number = list(islice(items, PAGE_SIZE)), 0
    while True:
        following, number = list(islice(items, PAGE_SIZE)), number + 1
        head = {
            "kind": f"{resource.object_kind}List",
            "metadata": {
                "resourceVersion": VERSION,
                **({"continue": str(number)} if following else {}),
            },
        }
        yield json.dumps(head)[:-1].encode() + b',"items":[' + b",".join(page) + b"]}"
        if not following:
            return
        page = following


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, found: dict[Kind, Shelf]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.shelves = {kind.value: shelf for kind, shelf in found.items()}
        self.closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that has gone."""
        del request, client_address
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()

    def write(self, kind: Kind, raw: bytes) -> float:
        """Write one event to the watches of a kind; give the instant before the first byte."""
        line = b'{"type":"ADDED","object":' + raw + b"}\n"
        chunk = b"%x\r\n%b\r\n" % (len(line), line)
        at = time.monotonic()
        for watch in self.shelves[kind.value].watches:
            watch.wfile.write(chunk)
            watch.wfile.flush()
        return at


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        """Answer discovery, a page, or a watch."""
        url = urlsplit(self.path)
        found = _PATH.fullmatch(url.path)
        if found is None:
            self._send(404, b"{}")
            return
        query = parse_qs(url.query)
        if found["plural"] is None:
            names = [
                {"name": resource.plural}
                for resource in RESOURCES.values()
                if resource.group == (found["group"] or "")
            ]
            self._send(200, json.dumps({"resources": names}).encode())
        elif "watch" in query:
            self._watch(self.server.shelves[found["plural"]])
        else:
            pages = self.server.shelves[found["plural"]].pages
            self._send(200, pages[int(query.get("continue", ["0"])[0])])

    def do_POST(self) -> None:
        """Take an Event, and forget it."""
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self._send(201, b"{}")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, shelf: Shelf) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        shelf.watches.append(self)
        self.server.closing.wait()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The way to a running API process."""

    port: int
    pipe: Connection

    def write(self, raw: bytes) -> float:
        """Write a Workload's event; give the CLOCK_MONOTONIC instant at which it left."""
        self.pipe.send_bytes(raw)
        at = self.pipe.recv()
        if not isinstance(at, float):
            raise TypeError(f"the API answered {at!r}")
        return at

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig that leads there."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "me", "user": {}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        return path


def _run(fleet: Fleet, pipe: Connection) -> None:
    """Be the API process: an empty command ends it."""
    server = _Server(shelves(fleet))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pipe.send(server.server_address[1])
    while raw := pipe.recv_bytes():
        pipe.send(server.write(Kind.WORKLOADS, raw))
    server.closing.set()
    server.shutdown()
    server.server_close()


@contextmanager
def served(fleet: Fleet) -> Iterator[Api]:
    """Serve a fleet meanwhile."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(fleet, theirs))
    process.start()
    try:
        yield Api(port=int(ours.recv()), pipe=ours)
    finally:
        ours.send_bytes(b"")
        process.join()
