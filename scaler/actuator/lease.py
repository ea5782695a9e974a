"""Elect one leader by a Lease: only it writes.

The kubernetes package has a leaderelection module; it does not fit: it judges by the wall clock,
can't be stopped, never gives the lease back, and keeps its holder leading while a request hangs.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec
import structlog

from scaler.core.model import Instant
from scaler.kube.api import MERGE_PATCH, Api, ApiError, NoAnswerError

_NOT_FOUND, _CONFLICT = 404, 409

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """How long a leader counts as one, in seconds; `deadline` < `duration`, else two may lead."""

    duration: float = 15.0
    """Others take over when they saw no renewal for so long."""
    deadline: float = 10.0
    """The leader itself stops to be one so long after it began its last good renewal."""
    pace: float = 2.5
    """Between two looks."""


class Leadership(Protocol):
    """Whoever knows whether this process may write."""

    @property
    def leading(self) -> bool:
        """Say whether it may write now; to be asked right before each write."""
        ...


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The Lease as last read or written, and since when it stood so before our eyes."""

    lease: _Lease
    since: float


class Elector:
    """Hold the Lease, or wait for it; a thread of its own.

    Time is told by `elapsed`, which no change of the clock moves: a holder is judged by how long
    its record stayed the same before our eyes, never by the times that it wrote.
    Invariant: of all electors with different identities at most one is `leading` at any time,
    while no `elapsed` runs faster than another by more than duration / deadline and nobody
    deletes the Lease.
    """

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Callable[[], Instant],
        elapsed: Callable[[], float] = time.monotonic,
        times: LeaseTimes | None = None,
    ) -> None:
        """Take the way in; nothing is asked yet. `clock` gives the times that are written.

        No other process, living or dead with a write under way, may have the same `identity`.
        """
        self._api = api
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._identity = identity
        self._clock = clock
        self._elapsed = elapsed
        self._times = times or LeaseTimes()
        self._seen: _Seen | None = None
        self._renewed: float | None = None
        """When the last good renewal began; bound whole, read by other threads."""
        self._failing = False
        self._led = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def leading(self) -> bool:
        """Say whether this process may write now, whatever a request under way is doing."""
        renewed = self._renewed
        return renewed is not None and self._elapsed() - renewed < self._times.deadline

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Give the Lease back and end the thread; whoever writes must have stopped before."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._times.deadline)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.turn()
            except Exception:
                # The thread must live on: without it nobody would lead.
                log.exception("turn failed", lease=self._name)
            self._stopping.wait(self._times.pace)
        self.release()

    def turn(self) -> None:
        """Renew the Lease, take it where it is free, or look who has it."""
        try:
            self._turn()
            self._failing = False
        except (ApiError, NoAnswerError, msgspec.MsgspecError) as error:
            if not self._failing:
                log.warning("lease can't be had", lease=self._name, error=str(error))
            self._failing = True
        self._tell()

    def release(self) -> None:
        """Let others take the Lease at once, where it is ours."""
        renewed, self._renewed = self._renewed, None
        if renewed is None or self._seen is None:
            return
        try:
            self._write(self._seen.lease, holder="")
        except (ApiError, NoAnswerError, msgspec.MsgspecError) as error:
            log.warning("lease is not given back", lease=self._name, error=str(error))
        self._tell()

    def _turn(self) -> None:
        began = self._elapsed()
        lease = self._read()
        if lease is not None:
            self._know(lease)
            if not self._takes():
                self._renewed = None
                return
        try:
            written = self._create() if lease is None else self._write(lease, holder=self._identity)
        except ApiError as error:
            if error.status != _CONFLICT:
                raise
            return  # somebody else wrote meanwhile; the next turn reads what
        self._know(written)
        # Counted from before it was sent: others count from after it came in.
        self._renewed = began

    def _know(self, lease: _Lease) -> None:
        """Note the record; since when it stands is kept while it stays the same."""
        if self._seen is None or self._seen.lease != lease:
            self._seen = _Seen(lease=lease, since=self._elapsed())

    def _takes(self) -> bool:
        """Say whether the Lease is ours, free, or outlived its holder."""
        if self._seen is None:
            return False
        spec = self._seen.lease.spec
        if not spec.holder_identity or spec.holder_identity == self._identity:
            return True
        patience = max(self._times.duration, float(spec.lease_duration_seconds or 0))
        return self._elapsed() - self._seen.since >= patience

    def _read(self) -> _Lease | None:
        try:
            answer = self._api.get(f"{self._path}/{self._name}", params={})
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return msgspec.json.decode(answer, type=_Lease)

    def _create(self) -> _Lease:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name},
            "spec": self._spec(_Spec(), holder=self._identity),
        }
        answer = self._api.send("POST", self._path, body=msgspec.json.encode(body))
        return msgspec.json.decode(answer, type=_Lease)

    def _write(self, lease: _Lease, *, holder: str) -> _Lease:
        """Write the holder, unless the Lease changed since it was read (409)."""
        body = {
            "metadata": {"resourceVersion": lease.metadata.resource_version},
            "spec": self._spec(lease.spec, holder=holder),
        }
        answer = self._api.send(
            "PATCH",
            f"{self._path}/{self._name}",
            body=msgspec.json.encode(body),
            content_type=MERGE_PATCH,
        )
        return msgspec.json.decode(answer, type=_Lease)

    def _spec(self, before: _Spec, *, holder: str) -> dict[str, object]:
        now = micro_time(self._clock())
        spec: dict[str, object] = {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(self._times.duration)),
            "renewTime": now,
        }
        if holder and before.holder_identity != holder:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (before.lease_transitions or 0) + 1
        return spec

    def _tell(self) -> None:
        leads = self.leading
        if leads != self._led:
            self._led = leads
            log.info("leading" if leads else "not leading", lease=self._name, who=self._identity)


def micro_time(moment: Instant) -> str:
    """Write an Instant as MicroTime, which must have six digits after the point."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def identity(pod: tuple[str, str, str] | None) -> str:
    """Name this process as no other one was or is: by its pod, else by host, pid and chance."""
    if pod is not None:
        _, name, uid = pod
        return f"{name}_{uid}"
    return f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
