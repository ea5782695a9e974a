"""Look at a cluster once: read every kind, ask Prometheus, and decide at one instant.

The same parts as those of `serve` read, each only once; what they can't read is told in the same
words, and makes HOLD in the same way.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from scaler.core.idle.wanted import Wanted, wanted
from scaler.core.model import Instant, Kind, Name, SourceState
from scaler.core.policy import Policy
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.kube.api import JSON, Api, Stream
from scaler.kube.forms import Key, Record
from scaler.kube.reflector import Reflector
from scaler.kube.resources import RESOURCES, Resource
from scaler.observer.changes import Change, Changed, Deleted, Listed, SourceChanged, UsageRead
from scaler.observer.join import Joiner
from scaler.observer.observer import refs_of
from scaler.prometheus.source import PrometheusSource

AT_ONCE = 4
"""Kinds that are listed at the same time."""
TURNS = 3
"""To discover, to list, and to list once more where the first list broke off."""
_LASTING = (401, 403)


class UnreadableError(Exception):
    """ScaledObjects can't be read, so that there is nothing to decide; one sentence."""


class PageKeeper(Protocol):
    """Who is given each page of a list as it came, from several threads."""

    def page(self, kind: Kind, *, version: str, first: bool, raw: bytes) -> None:
        """Take a page; the first one begins the list anew. `version` is the apiVersion."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen of a cluster at one instant."""

    at: Instant
    """In whole milliseconds, as bundles and Prometheus write it."""
    policy: Policy
    snapshot: Snapshot
    want: Wanted
    """What Prometheus was asked for."""

    def refs(self, scaled_object: Name) -> tuple[TriggerRef, ...]:
        """Give the triggers of a ScaledObject that are ours, in its order."""
        return tuple(ref for ref in refs_of(self.snapshot) if ref.key == scaled_object)

    def ours(self) -> tuple[Name, ...]:
        """Give the ScaledObjects that have such triggers, sorted."""
        scaled_objects = self.snapshot.scaled_objects
        return tuple(sorted({ref.key for ref in refs_of(self.snapshot)} & scaled_objects.keys()))


def look(
    api: Api,
    *,
    policy: Policy,
    clock: Callable[[], Instant] = time.time,
    keeper: PageKeeper | None = None,
    resources: Mapping[Kind, Resource] = RESOURCES,
    also: Sequence[TriggerRef] = (),
) -> Look:
    """Read every kind of the cluster, then ask Prometheus what its triggers want.

    `resources` are those of the process that is to decide: `actuate` reads more than `serve`.
    `also` are triggers that are asked for beside those of the cluster.
    ScaledObjects come first and alone, so that an API server that is out of reach is waited for
    once.

    Raises:
        UnreadableError: ScaledObjects can't be read.
    """
    told = _Told()
    _read(api, resources[Kind.SCALED_OBJECTS], told=told, clock=clock, keeper=keeper)
    state = told.states.get(Kind.SCALED_OBJECTS, SourceState(synced=False))
    if not state.synced:
        raise UnreadableError(f"ScaledObjects can't be read: {state.problem}")
    others = (row for kind, row in resources.items() if kind is not Kind.SCALED_OBJECTS)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look") as pool:
        reads = [
            pool.submit(_read, api, row, told=told, clock=clock, keeper=keeper) for row in others
        ]
    for read in reads:
        read.result()
    return _joined(told.changes, policy=policy, at=round(clock(), 3), clock=clock, also=also)


def read_lists(
    api: Api,
    *,
    kinds: Iterable[Kind],
    keeper: PageKeeper,
    clock: Callable[[], Instant] = time.time,
) -> Mapping[Kind, SourceState]:
    """List some kinds for a keeper alone; give how far each could be read."""
    told = _Told()
    for kind in kinds:
        _read(api, RESOURCES[kind], told=told, clock=clock, keeper=keeper)
    return told.states


def _read(
    api: Api,
    resource: Resource,
    *,
    told: "_Told",
    clock: Callable[[], Instant],
    keeper: PageKeeper | None,
) -> None:
    """Let a reflector take turns until its kind is listed, or is known not to be readable."""
    kind = resource.kind
    seen = api if keeper is None else _Kept(api, kind=kind, keeper=keeper)
    reflector = Reflector(api=seen, resource=resource, sink=told, clock=clock)
    for _ in range(TURNS):
        reflector.turn()
        state = told.states.get(kind)
        if state is not None and (state.synced or not state.installed or _in_vain(state)):
            return


def _in_vain(state: SourceState) -> bool:
    """Say whether asking again is: only someone else can mend a refusal."""
    refused = (state.problem or "").startswith(tuple(f"{status} " for status in _LASTING))
    return refused or state.failures > 1


def _joined(
    changes: Iterable[Change],
    *,
    policy: Policy,
    at: Instant,
    clock: Callable[[], Instant],
    also: Sequence[TriggerRef],
) -> Look:
    joiner = Joiner()
    for change in changes:
        joiner.apply(change)
    before, _ = joiner.snapshot(at=at)
    refs = (*refs_of(before), *also)
    want = wanted(snapshot=before, refs=refs, policy=policy, now=at)
    if want.usage or want.queries:
        joiner.apply(_asked(want, policy=policy, at=at, clock=clock))
    snapshot, _ = joiner.snapshot(at=at)
    return Look(at=at, policy=policy, snapshot=snapshot, want=want)


def _asked(want: Wanted, *, policy: Policy, at: Instant, clock: Callable[[], Instant]) -> UsageRead:
    source = PrometheusSource(clock=clock)
    try:
        read = source.refresh(
            settings=policy.prometheus,
            safety=policy.safety,
            usage=want.usage,
            queries=want.queries,
            at=at,
        )
    finally:
        source.close()
    return UsageRead(usage=read.usage, answers=read.answers)


class _Told:
    """What the reflectors tell, in order for each kind; several threads append."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.states: dict[Kind, SourceState] = {}

    def listed(self, kind: Kind, records: Sequence[Record], skipped: int) -> None:
        self.changes.append(Listed(kind=kind, records=records, skipped=skipped))

    def changed(self, kind: Kind, record: Record) -> None:
        self.changes.append(Changed(kind=kind, record=record))

    def deleted(self, kind: Kind, key: Key) -> None:
        self.changes.append(Deleted(kind=kind, key=key))

    def state(self, kind: Kind, state: SourceState) -> None:
        self.states[kind] = state
        self.changes.append(SourceChanged(kind=kind, state=state))


class _Kept:
    """Pass requests on, and give each page of the kind's list to the keeper."""

    def __init__(self, api: Api, *, kind: Kind, keeper: PageKeeper) -> None:
        self._api = api
        self._kind = kind
        self._keeper = keeper

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        raw = self._api.get(path, params=params, accept=accept)
        if "limit" in params:
            root, _, _ = path.rpartition("/")
            version = root.removeprefix("/apis/").removeprefix("/api/")
            first = "continue" not in params
            self._keeper.page(self._kind, version=version, first=first, raw=raw)
        return raw

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        return self._api.stream(path, params=params, accept=accept, read_timeout=read_timeout)

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        return self._api.send(method, path, body=body, content_type=content_type)
