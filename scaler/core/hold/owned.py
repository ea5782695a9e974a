"""Find objects by name, by who controls them, and by our mark, once for each Snapshot."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scaler.core.model import Controlled, Name
from scaler.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    named: Mapping[tuple[str, str, str], Controlled]
    """By kind, namespace and name; one that is being deleted only where there is no other."""
    controlled: Mapping[str, tuple[Controlled, ...]]
    """By the controller's uid."""
    marked: Mapping[tuple[Name, str], tuple[Controlled, ...]]
    """By namespace, the WorkerScale that a mark names, and its component."""


def named(snapshot: Snapshot, *, kind: str, namespace: str, name: str) -> Controlled | None:
    """Find an object by its name."""
    return _index(snapshot).named.get((kind, namespace, name))


def controlled_by(snapshot: Snapshot, uids: Iterable[str], *, kind: str) -> tuple[Controlled, ...]:
    """Give the objects of a kind that others control and nobody deletes, by name."""
    index = _index(snapshot).controlled
    return tuple(
        one
        for uid in sorted(uids)
        for one in index.get(uid, ())
        if one.kind == kind and not one.deleting
    )


def marked_by(
    snapshot: Snapshot, scale: Name, *, component: str, kind: str
) -> tuple[Controlled, ...]:
    """Give the objects of a kind that bear a WorkerScale's mark and nobody deletes, by name.

    A mark of another component is one that an earlier WorkerScale of that name left behind: what
    bears it is no target of this one.
    """
    found = _index(snapshot).marked.get((scale, component), ())
    return tuple(one for one in found if one.kind == kind and not one.deleting)


def _index(snapshot: Snapshot) -> _Index:
    owners = snapshot.owners
    return snapshot.memo.recall(("owners of holds",), (owners,), lambda: _build(owners))


def _build(owners: Mapping[str, Controlled]) -> _Index:
    named: dict[tuple[str, str, str], Controlled] = {}
    controlled: defaultdict[str, list[Controlled]] = defaultdict(list)
    marked: defaultdict[tuple[Name, str], list[Controlled]] = defaultdict(list)
    for one in sorted(owners.values(), key=lambda one: (not one.deleting, one.name)):
        named[one.kind, one.namespace, one.name] = one
        if one.controller_uid is not None:
            controlled[one.controller_uid].append(one)
        for by, component in {(mark.by, mark.component) for mark in one.marks}:
            marked[(one.namespace, by), component].append(one)
    return _Index(
        named=named,
        controlled={uid: tuple(found) for uid, found in controlled.items()},
        marked={scale: tuple(found) for scale, found in marked.items()},
    )
