"""Whose workers a WorkerScale took: pods that are missing on purpose, or wanted back.

While they are held their quota counts as used, and they need no node. Once they are wanted back
their nodes have to come first, although no pod of theirs is there to say so.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scaler.core.model import HoldRecord, Instant, Mode, Name, WorkerScale
from scaler.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSets:
    """The podsets of one Workload that are held, or were and are wanted back."""

    away: frozenset[str] = frozenset()
    waking: frozenset[str] = frozenset()
    since: Instant | None = None
    """When the first of those that wake was wanted back."""


NOT_HELD = HeldSets()


Key: TypeAlias = tuple[str, str]
"""Namespace and uid of a Workload."""


def held_sets(snapshot: Snapshot) -> Mapping[Key, HeldSets]:
    """Give them by the Workload's namespace and uid.

    One of the same name that came after it is not held, and no WorkerScale speaks of another
    namespace's, whatever its status says.
    """
    scales = snapshot.worker_scales
    return snapshot.memo.recall("held pod sets", (scales,), lambda: holds_in(scales))


def holds_in(scales: Mapping[Name, WorkerScale]) -> Mapping[Key, HeldSets]:
    """Index the holds of WorkerScales; a released Workload has no quota, and so no hold."""
    records: defaultdict[Key, list[HoldRecord]] = defaultdict(list)
    for one in scales.values():
        if one.mode is Mode.HOLD and one.status.hold is not None:
            records[one.namespace, one.status.hold.workload_uid].append(one.status.hold)
    return {key: _summed_up(found) for key, found in records.items()}


def _summed_up(records: Iterable[HoldRecord]) -> HeldSets:
    known = tuple(records)
    waking = [one for one in known if one.waking_at is not None]
    return HeldSets(
        away=frozenset(name for one in known if one.waking_at is None for name, _ in one.pod_sets),
        waking=frozenset(name for one in waking for name, _ in one.pod_sets),
        since=min((one.waking_at for one in waking if one.waking_at is not None), default=None),
    )
