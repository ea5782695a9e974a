"""The embedded cluster's objects: by kind, versioned, with a history that watches follow.

A stored document is never changed in place: whoever reads one may keep it, and must not write to
it. The lock guards all fields; `changed` is notified after every write.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from scaler.core.model import Instant, Name
from scaler.sim.clock import Clock
from scaler.sim.kinds import RESOURCES, Resource
from scaler.sim.patches import Document

HISTORY = 5000
"""Changes kept by kind; a watch from before them is told 410."""


class ConflictError(Exception):
    """An object of that name is there already (HTTP 409, reason AlreadyExists)."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'{kind} "{name}" already exists')


class StaleError(Exception):
    """A write is of another version than the stored one (HTTP 409, reason Conflict)."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            f'Operation cannot be fulfilled on {kind} "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )


class NotFoundError(Exception):
    """No object of that name (HTTP 404)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a kind's history."""

    version: int
    type: str
    """ADDED, MODIFIED or DELETED."""
    document: Document


def timestamp(instant: Instant) -> str:
    """Write an instant as Kubernetes does: RFC 3339, UTC, whole seconds."""
    return datetime.fromtimestamp(int(instant), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_of(document: Document) -> Name:
    """Give (namespace, name); the namespace is empty for a cluster-scoped object."""
    metadata = document["metadata"]
    return (metadata.get("namespace", ""), metadata["name"])


class Objects:
    """Keep every object of the cluster, and what happened to each kind."""

    def __init__(self, *, clock: Clock, resources: Iterable[Resource] = RESOURCES) -> None:
        self.resources = {resource.plural: resource for resource in resources}
        self.changed = threading.Condition(threading.RLock())
        self._clock = clock
        self._version = 100
        self._kept: dict[str, dict[Name, Document]] = {plural: {} for plural in self.resources}
        self._history: dict[str, deque[Change]] = {plural: deque() for plural in self.resources}
        self._oldest = dict.fromkeys(self.resources, self._version)

    def get(self, plural: str, name: Name) -> Document | None:
        """Give one object, None where there is none."""
        with self.changed:
            return self._kept[plural].get(name)

    def all(self, plural: str) -> list[Document]:
        """Give the objects of a kind in the order of their names."""
        with self.changed:
            return [document for _, document in sorted(self._kept[plural].items())]

    def listed(self, plural: str) -> tuple[int, list[Document]]:
        """Give a consistent list with the version that it is of."""
        with self.changed:
            return self._version, self.all(plural)

    def create(self, plural: str, document: Document) -> Document:
        """Store a new object with uid, time of creation and version.

        Raises:
            ConflictError: one of that name is there.
        """
        with self.changed:
            stored = deepcopy(document)
            self._complete(self.resources[plural], stored)
            if name_of(stored) in self._kept[plural]:
                raise ConflictError(self.resources[plural].qualified, name_of(stored)[1])
            return self._write(plural, "ADDED", stored)

    def modify(self, plural: str, name: Name, change: Callable[[Document], None]) -> Document:
        """Let `change` write to a copy and store that; no new version where nothing differs.

        An object that is being deleted is gone with its last finalizer.

        Raises:
            NotFoundError: there is no such object.
        """
        with self.changed:
            before = self._found(plural, name)
            after = deepcopy(before)
            change(after)
            if after == before:
                return before
            if after.get("spec") != before.get("spec"):
                _raise_generation(after)
            metadata = after["metadata"]
            if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
                return self._remove(plural, name, after)
            return self._write(plural, "MODIFIED", after)

    def end(self, plural: str, name: Name) -> Document:
        """Delete an object as a client does: while it has finalizers, it is only marked.

        Raises:
            NotFoundError: there is no such object.
        """
        with self.changed:
            document = deepcopy(self._found(plural, name))
            metadata = document["metadata"]
            if not metadata.get("finalizers"):
                return self._remove(plural, name, document)
            if "deletionTimestamp" in metadata:
                return document
            metadata["deletionTimestamp"] = timestamp(self._clock.now())
            metadata["deletionGracePeriodSeconds"] = 0
            _raise_generation(document)
            return self._write(plural, "MODIFIED", document)

    def delete(self, plural: str, name: Name) -> Document:
        """Remove an object at once, whatever its finalizers.

        Raises:
            NotFoundError: there is no such object.
        """
        with self.changed:
            return self._remove(plural, name, deepcopy(self._found(plural, name)))

    def forget_history(self) -> None:
        """Make every watch that starts from an older version see 410, as etcd's compaction does."""
        with self.changed:
            self._version += 1
            for plural, history in self._history.items():
                history.clear()
                self._oldest[plural] = self._version

    def version(self) -> int:
        """Give the newest version."""
        with self.changed:
            return self._version

    def since(self, plural: str, version: int) -> tuple[int, list[Change]] | None:
        """Give what happened after a version, and the version that this is up to; None = 410."""
        with self.changed:
            if version < self._oldest[plural]:
                return None
            later = [c for c in self._history[plural] if c.version > version]
            return self._version, later

    def _found(self, plural: str, name: Name) -> Document:
        document = self._kept[plural].get(name)
        if document is None:
            raise NotFoundError(f"{plural} {name[1]!r} not found")
        return document

    def _complete(self, resource: Resource, document: Document) -> None:
        document["apiVersion"] = resource.api_version
        document["kind"] = resource.kind
        metadata = document["metadata"]
        uid = str(uuid4())
        if "name" not in metadata:
            metadata["name"] = f"{metadata.get('generateName', '')}{uid[:5]}"
        metadata.setdefault("uid", uid)
        metadata.setdefault("creationTimestamp", timestamp(self._clock.now()))
        metadata.setdefault("generation", 1)
        if resource.default_replicas is not None:
            document.setdefault("spec", {}).setdefault("replicas", resource.default_replicas)

    def _remove(self, plural: str, name: Name, last: Document) -> Document:
        del self._kept[plural][name]
        return self._record(plural, "DELETED", last)

    def _write(self, plural: str, type_: str, document: Document) -> Document:
        stored = self._record(plural, type_, document)
        self._kept[plural][name_of(document)] = stored
        return stored

    def _record(self, plural: str, type_: str, document: Document) -> Document:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        history = self._history[plural]
        history.append(Change(version=self._version, type=type_, document=document))
        if len(history) > HISTORY:
            self._oldest[plural] = history.popleft().version
        self.changed.notify_all()
        return document


def _raise_generation(document: Document) -> None:
    metadata = document["metadata"]
    metadata["generation"] = metadata.get("generation", 1) + 1
