"""A tiny controller of MachineSets and MachineDeployments: Machines at once, Nodes after a while.

It scales in as OpenShift does by default: chance picks a Machine; its Node and pods go with it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from secrets import SystemRandom

from requests import codes

from tests.e2e.api import Object, RefusedError
from tests.e2e.devices import runs
from tests.e2e.machine_objects import (
    GPU_DELAY,
    NODE_DELAY,
    SELECTOR_OF,
    SUFFIX,
    crds,
    gpus_of,
    machine,
    node,
    node_of,
    replicas_of,
    seconds,
    selector_of,
    stem_of,
)
from tests.e2e.mirror import OUTAGE, Cluster, Mirror

__all__ = ["Machines", "Removal", "crds", "node"]

TICK = 0.1
"""Seconds between two rounds of the controller."""
HANDS = 8
"""Machines that come at the same time: many of one set must not keep others waiting."""
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A Machine that went, and what went with its Node."""

    at: float
    """Monotonic seconds."""
    namespace: str
    """Of the set."""
    name: str
    """Of the set."""
    machine: str
    """The Machine's name and the Node's."""
    running: tuple[str, ...]
    """Pods that ran on it, as namespace/name."""

    @property
    def busy(self) -> bool:
        """Say whether a running pod was on it."""
        return bool(self.running)


class Stage(IntEnum):
    """How far a Machine has come."""

    WANTED = 0
    MADE = 1
    """The Machine is there."""
    NODE = 2
    """The Node is there."""
    WHOLE = 3
    """And so are its GPUs."""


@dataclass(slots=True, kw_only=True)
class _Member:
    name: str
    owner: Object
    """The set as it was when it was last seen."""
    born: float
    stage: Stage = Stage.WANTED
    reached: float = 0.0
    """When it came to its stage."""
    leaving: bool = False
    recorded: bool = False


class Machines:
    """Keeps the Machines of every set there is; one controller for a cluster."""

    def __init__(
        self,
        api: Cluster,
        *,
        chance: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a controller.

        Args:
            api: An administrator's.
            chance: Picks the Machine that goes, and the ends of names.
            clock: Gives monotonic seconds.
        """
        self._api = api
        self._chance = chance or SystemRandom()
        self._clock = clock
        self._sets = tuple(Mirror(api, kind, heard=self._hear) for kind in SELECTOR_OF)
        self._lock = threading.Lock()
        """Guards all below but _members, which are the round's alone."""
        self._sizes: dict[tuple[str, str], list[tuple[float, int]]] = {}
        self._held: set[str] = set()
        self._removed: list[Removal] = []
        self._members: list[_Member] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machines", daemon=True)

    def start(self) -> None:
        """Begin; the definitions of `crds()` should be there."""
        for mirror in self._sets:
            mirror.start()
        self._thread.start()

    def stop(self) -> None:
        """End; Machines and Nodes stay as they are."""
        self._stopped.set()
        for mirror in self._sets:
            mirror.stop()
        self._thread.join()

    @property
    def removed(self) -> list[Removal]:
        """Give every Machine that went, in order."""
        with self._lock:
            return list(self._removed)

    def sizes(self, namespace: str, name: str) -> list[tuple[float, int]]:
        """Give (monotonic seconds, replicas) of each change of a set's spec.replicas."""
        with self._lock:
            return list(self._sizes.get((namespace, name), ()))

    def hold(self, name: str) -> None:
        """Let the Machines of a set, or one Machine, get no Node until it is released."""
        with self._lock:
            self._held.add(name)

    def release(self, name: str) -> None:
        """Let Nodes come again."""
        with self._lock:
            self._held.discard(name)

    def reconcile(self) -> None:
        """Go one round: everything that can be done now is done.

        What the API server refuses is tried again in the next round; its namespace may be going.

        Raises:
            OSError: the API server can't be reached; the next round goes on from there.
        """
        if not all(mirror.synced(0) for mirror in self._sets):
            return
        owners = [each for mirror in self._sets for each in mirror.objects()]
        self._adopt(owners)
        for owner in owners:
            self._resize(owner)
        for member in [each for each in self._members if each.leaving]:
            with suppress(RefusedError):
                self._leave(member)
        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(self._advance, [each for each in self._members if not each.leaving]))
        for owner in owners:
            with suppress(RefusedError):
                self._tell(owner)

    def _run(self) -> None:
        while not self._stopped.wait(TICK):
            with suppress(*OUTAGE):
                self.reconcile()

    def _hear(self, owner: Object) -> None:
        meta = owner["metadata"]
        replicas = replicas_of(owner)
        with self._lock:
            past = self._sizes.setdefault((meta["namespace"], meta["name"]), [])
            if not past or past[-1][1] != replicas:
                past.append((self._clock(), replicas))

    def _adopt(self, owners: Iterable[Object]) -> None:
        """Give members their set as it is now; those without one leave."""
        by_uid = {owner["metadata"]["uid"]: owner for owner in owners}
        for member in self._members:
            owner = by_uid.get(member.owner["metadata"]["uid"])
            member.owner = owner or member.owner
            member.leaving = member.leaving or owner is None

    def _of(self, owner: Object) -> list[_Member]:
        uid = owner["metadata"]["uid"]
        return [
            each
            for each in self._members
            if each.owner["metadata"]["uid"] == uid and not each.leaving
        ]

    def _resize(self, owner: Object) -> None:
        members = self._of(owner)
        more = replicas_of(owner) - len(members)
        for _ in range(more):
            name = f"{stem_of(owner)}-{''.join(self._chance.choices(LETTERS, k=SUFFIX))}"
            self._members.append(_Member(name=name, owner=owner, born=self._clock()))
        for victim in self._chance.sample(members, max(0, -more)):
            victim.leaving = True

    def _advance(self, member: _Member) -> None:
        """Take a Machine to its next stages, as far as its delays allow."""
        now = self._clock()
        with suppress(RefusedError):
            if member.stage == Stage.WANTED:
                self._create(machine(member.owner, member.name))
                self._reach(member, Stage.MADE)
            if member.stage == Stage.MADE and self._may_have_node(member, now):
                self._bear(member)
                self._reach(member, Stage.NODE)
            delay = seconds(member.owner, GPU_DELAY)
            if member.stage == Stage.NODE and now - member.reached >= delay:
                if delay:
                    self._api.patch("Node", member.name, change=gpus_of(member.owner), sub="status")
                self._reach(member, Stage.WHOLE)

    def _reach(self, member: _Member, stage: Stage) -> None:
        member.stage, member.reached = stage, self._clock()

    def _may_have_node(self, member: _Member, now: float) -> bool:
        with self._lock:
            held = bool(self._held & {member.name, member.owner["metadata"]["name"]})
        return not held and now - member.born >= seconds(member.owner, NODE_DELAY)

    def _bear(self, member: _Member) -> None:
        """Create a Machine's Node; what is lost of its status on the way is written again."""
        wanted = node_of(member.owner, member.name)
        self._create(wanted)
        self._api.patch("Node", member.name, change={"status": wanted["status"]}, sub="status")
        status = {"phase": "Running", "nodeRef": {"kind": "Node", "name": member.name}}
        namespace = member.owner["metadata"]["namespace"]
        self._api.patch("Machine", member.name, namespace, change={"status": status}, sub="status")

    def _leave(self, member: _Member) -> None:
        """Take a Machine away: its Node first, so that no pod is put there any more."""
        namespace = member.owner["metadata"]["namespace"]
        self._api.delete("Node", member.name)
        pods = [pod for pod in self._api.list("Pod") if pod["spec"].get("nodeName") == member.name]
        self._record(member, pods)
        for pod in pods:
            meta = pod["metadata"]
            self._api.delete("Pod", meta["name"], meta["namespace"], grace=0)
        self._api.delete("Machine", member.name, namespace)
        self._members.remove(member)

    def _record(self, member: _Member, pods: Sequence[Object]) -> None:
        if member.recorded:
            return
        names = (pod["metadata"] for pod in pods if runs(pod))
        meta = member.owner["metadata"]
        removal = Removal(
            at=self._clock(),
            namespace=meta["namespace"],
            name=meta["name"],
            machine=member.name,
            running=tuple(f"{each['namespace']}/{each['name']}" for each in names),
        )
        member.recorded = True
        with self._lock:
            self._removed.append(removal)

    def _tell(self, owner: Object) -> None:
        """Write a set's status where it is no longer so."""
        kind, meta, members = owner["kind"], owner["metadata"], self._of(owner)
        ready = sum(each.stage >= Stage.NODE for each in members)
        wanted = {
            "replicas": len(members),
            **dict.fromkeys(("readyReplicas", "availableReplicas"), ready),
            "observedGeneration": meta.get("generation", 0),
            SELECTOR_OF[kind]: selector_of(owner),
        }
        status = owner.get("status") or {}
        if any(status.get(key) != value for key, value in wanted.items()):
            self._api.patch(
                kind, meta["name"], meta["namespace"], change={"status": wanted}, sub="status"
            )

    def _create(self, wanted: Object) -> None:
        """Create an object that an interrupted round may have created already."""
        try:
            self._api.create(wanted)
        except RefusedError as error:
            if error.status != codes.conflict:
                raise
