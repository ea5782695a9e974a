"""What `check` judges of a cluster: ScaledObjects, WorkerScales and StatefulSets as they are."""

import argparse
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from scaler import log
from scaler.commands.check_files import Finding, Severity
from scaler.core.model import Kind, SourceState
from scaler.core.trigger import Problem
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.resources import KINDS
from scaler.live import UnreadableError, read_lists

CLUSTER = "cluster"
"""Stands where findings name a file."""
_JUDGED = (Kind.SCALED_OBJECTS, Kind.WORKER_SCALES, Kind.STATEFUL_SETS)

Texts = tuple[tuple[str, str], ...]


class _Pages:
    """Keep what the API server said, whole: what we don't read is judged too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[Kind, list[dict[str, object]]] = {}

    def page(self, kind: Kind, *, version: str, first: bool, raw: bytes) -> None:
        """Take a page; items of a list leave out what they are, which its own name says."""
        head = {"apiVersion": version, "kind": KINDS[kind].object_kind}
        try:
            items = msgspec.json.decode(raw, type=_List).items or []
        except msgspec.MsgspecError:
            return
        with self._lock:
            if first:
                self._items[kind] = []
            self._items.setdefault(kind, []).extend({**head, **item} for item in items)

    def text(self) -> str:
        """Give all of them as one List, without what the API server and KEDA wrote themselves."""
        items = [item for kind in _JUDGED for item in self._items.get(kind, ())]
        for item in items:
            metadata, spec = item.get("metadata"), item.get("spec")
            if isinstance(metadata, dict):
                metadata.pop("managedFields", None)
            if item["kind"] == KINDS[Kind.WORKER_SCALES].object_kind and isinstance(spec, dict):
                spec.pop("replicas", None)  # only in a file it is a mistake
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


class _List(msgspec.Struct):
    items: list[dict[str, object]] | None = None


def of_cluster(args: argparse.Namespace) -> tuple[Texts, tuple[Finding, ...]]:
    """Read the cluster; give what is to be judged, and what could not be read.

    Raises:
        NoClusterError: there is no way to a cluster.
        UnreadableError: its ScaledObjects can't be read.
    """
    pages = _Pages()
    api = ApiServer(find_credentials(args.kubeconfig, context=args.context))
    # What can't be read is told once, by the findings.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        log.configure(stream=nowhere)
        try:
            states = read_lists(api, kinds=_JUDGED, keeper=pages)
        finally:
            log.configure()
            api.close()
    state = states.get(Kind.SCALED_OBJECTS, SourceState(synced=False))
    if not state.synced:
        raise UnreadableError(f"ScaledObjects can't be read: {state.problem}")
    return ((CLUSTER, pages.text()),), tuple(_unread(states.items()))


def within(namespace: str | None, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leave out what is of other namespaces of the cluster; None = it is all told."""
    return tuple(
        one
        for one in findings
        if namespace is None
        or one.file != CLUSTER
        or one.subject.partition(" ")[2].partition("/")[0] == namespace
    )


def _unread(states: Iterable[tuple[Kind, SourceState]]) -> Iterator[Finding]:
    for kind, state in states:
        if not state.synced and state.installed:
            problem = Problem(path=kind, value="", allowed=f"not judged: {state.problem}")
            yield Finding(severity=Severity.WARNING, file=CLUSTER, subject="", problem=problem)
