"""The account of a ClusterQueue or a Workload as people and programs are shown it."""

from collections.abc import Iterator

import msgspec

from scaler.core.account.cluster_queue import QueueAccount, QuotaRow, WaitingRow
from scaler.core.account.readers import Reader
from scaler.core.account.workload import Counting, Resting, WorkloadAccount
from scaler.core.model import Instant, WorkerScale
from scaler.core.quantity import format_duration, format_instant, several
from scaler.core.reasons import CLASS_WORDS
from scaler.core.remedy.remedy import amount_told
from scaler.view import camel
from scaler.view_remedy import (
    ShownExplained,
    ShownRemedy,
    explained_lines,
    remedy_lines,
    shown_explained,
    shown_remedy,
)


class ShownQuota(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """One resource of one flavor; cpu in millicores, memory in bytes."""

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    borrowable: int
    free: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class ShownWaiting(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """One Workload that waits."""

    workload: str
    workload_class: str
    gpus: int
    quota_free: bool
    waiting_since: str
    message: str = ""
    changes: tuple[ShownRemedy, ...] = ()


class ShownReader(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """One queue trigger that reads a ClusterQueue."""

    scaled_object: str
    unit: str
    pool: str | None
    status: str
    value: int | None
    reason: str


class ShownQueueAccount(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """All of a ClusterQueue."""

    cluster_queue: str
    cohort: str | None = None
    relatives: tuple[str, ...] = ()
    closed: str = ""
    unknown: str = ""
    quotas: tuple[ShownQuota, ...]
    classes: object
    waiting: tuple[ShownWaiting, ...]
    waiting_in_all: int
    triggers: tuple[ShownReader, ...]


class ShownCounting(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Whether a Workload counts in a trigger."""

    trigger: ShownReader
    counts: bool
    why: str


class ShownHeld(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A WorkerScale that holds it."""

    worker_scale: str
    since: str
    pod_sets: dict[str, int]
    reason: str


class ShownWorkloadAccount(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """All of a Workload."""

    workload: str
    cluster_queue: str | None = None
    workload_class: str
    words: str
    gpus: int
    message: str = ""
    unknown: str = ""
    changes: tuple[ShownRemedy, ...] = ()
    counting: tuple[ShownCounting, ...]
    idle: tuple[ShownExplained, ...]
    held: tuple[ShownHeld, ...] = ()


def shown_queue(account: QueueAccount) -> ShownQueueAccount:
    """Give a ClusterQueue's account in the form that is shown."""
    return ShownQueueAccount(
        cluster_queue=account.queue.name,
        cohort=account.queue.cohort,
        relatives=account.relatives,
        closed=account.closed,
        unknown=account.unknown,
        quotas=tuple(_quota(row) for row in account.quotas),
        classes=camel(msgspec.to_builtins(account.classes)),
        waiting=tuple(_waiting(row) for row in account.waiting),
        waiting_in_all=account.waiting_in_all,
        triggers=tuple(_reader(one) for one in account.readers),
    )


def queue_lines(account: QueueAccount, *, now: Instant) -> tuple[str, ...]:
    """Give a ClusterQueue's account as lines for a terminal."""
    queue = account.queue
    cohort = f" of cohort {queue.cohort}" if queue.cohort else ""
    return (
        f"ClusterQueue {queue.name}{cohort}",
        *((f"  unknown   {account.unknown}",) if account.unknown else ()),
        *((f"  closed    {account.closed}",) if account.closed else ()),
        *((f"  relatives {', '.join(account.relatives)}",) if account.relatives else ()),
        *(f"  quota     {_quota_told(row)}" for row in account.quotas),
        *(
            f"  class     {one.workload_class} ({CLASS_WORDS.get(one.workload_class, 'placed')}): "
            f"{several(one.workloads, 'Workload')}, {several(one.gpus, 'GPU')}"
            for one in account.classes
        ),
        *_waiting_lines(account, now),
        *(f"  read by   {_reader_told(one)}" for one in account.readers),
        *(() if account.readers else ("  read by   no trigger",)),
    )


def shown_workload(account: WorkloadAccount) -> ShownWorkloadAccount:
    """Give a Workload's account in the form that is shown."""
    return ShownWorkloadAccount(
        workload="/".join(account.workload.key),
        cluster_queue=account.cluster_queue,
        workload_class=account.workload_class,
        words=account.words,
        gpus=account.gpus,
        message=account.workload.message,
        unknown=account.unknown,
        changes=tuple(map(shown_remedy, account.remedies)),
        counting=tuple(_counted(one) for one in account.counting),
        idle=tuple(shown_explained(one.decision, one.remedies) for one in account.resting),
        held=tuple(_held(one) for one in account.scales),
    )


def workload_lines(account: WorkloadAccount, *, now: Instant) -> tuple[str, ...]:
    """Give a Workload's account as lines for a terminal."""
    workload, queue = account.workload, account.cluster_queue or "none"
    gpus = several(account.gpus, "GPU")
    return (
        f"Workload {'/'.join(workload.key)}  class {account.workload_class} ({account.words})",
        *((f"  unknown   {account.unknown}",) if account.unknown else ()),
        f"  queue     {workload.queue_name} of ClusterQueue {queue}, {gpus}",
        *((f"  Kueue     {workload.message}",) if workload.message else ()),
        *remedy_lines(account.remedies),
        *(_counting_told(one) for one in account.counting),
        *(() if account.counting else ("  counts in no trigger",)),
        *(line for one in account.scales for line in _held_lines(one, now)),
        *(line for one in account.resting for line in _resting_lines(one)),
    )


# --- the parts ---------------------------------------------------------------------------------


def _quota(row: QuotaRow) -> ShownQuota:
    return ShownQuota(
        flavor=row.flavor,
        resource=row.resource,
        nominal=row.nominal,
        used=row.used,
        borrowed=row.borrowed,
        borrowable=row.borrowable,
        free=row.free,
        borrowing_limit=row.borrowing_limit,
        lending_limit=row.lending_limit,
    )


def _quota_told(row: QuotaRow) -> str:
    limits = ""
    if row.borrowing_limit is not None:
        limits += f", borrows at most {amount_told(row.resource, row.borrowing_limit)}"
    if row.lending_limit is not None:
        limits += f", lends at most {amount_told(row.resource, row.lending_limit)}"
    nominal, used, free, borrowable, borrowed = (
        amount_told(row.resource, amount)
        for amount in (row.nominal, row.used, row.free, row.borrowable, row.borrowed)
    )
    of_those = f" ({borrowed} borrowed)" if row.borrowed else ""
    lent = f" ({borrowable} of it to borrow)" if row.borrowable else ""
    whole = f"{nominal} nominal, {used} used{of_those}, {free} free{lent}{limits}"
    return f"{row.flavor} {row.resource}: {whole}"


def _waiting(row: WaitingRow) -> ShownWaiting:
    return ShownWaiting(
        workload="/".join(row.workload.key),
        workload_class=row.workload_class,
        gpus=row.gpus,
        quota_free=row.granted,
        waiting_since=format_instant(row.workload.waiting_since),
        message=row.workload.message,
        changes=tuple(map(shown_remedy, row.remedies)),
    )


def _waiting_lines(account: QueueAccount, now: Instant) -> Iterator[str]:
    for row in account.waiting:
        words = CLASS_WORDS.get(row.workload_class, "its status contradicts itself")
        since = format_duration(max(0, round(now - row.workload.waiting_since)))
        said = "quota is free, it needs nodes" if row.granted else words
        yield (
            f"  waits     {'/'.join(row.workload.key)}  {row.workload_class} ({said}), "
            f"{several(row.gpus, 'GPU')}, for {since}"
        )
        yield from remedy_lines(row.remedies)
    more = account.waiting_in_all - len(account.waiting)
    if more:
        yield f"  waits     and {more} more"


def _reader(reader: Reader) -> ShownReader:
    return ShownReader(
        scaled_object="/".join(reader.ref.key),
        unit=reader.trigger.unit,
        pool=reader.trigger.pool,
        status=reader.decision.status,
        value=reader.decision.value,
        reason=reader.decision.reason,
    )


def _reader_told(reader: Reader) -> str:
    pool = f" of pool {reader.trigger.pool}" if reader.trigger.pool else ""
    value = "no value" if reader.decision.value is None else f"value {reader.decision.value}"
    return (
        f"ScaledObject {'/'.join(reader.ref.key)} ({reader.trigger.unit}{pool}): {value}, "
        f"{reader.decision.reason}"
    )


def _counted(one: Counting) -> ShownCounting:
    return ShownCounting(trigger=_reader(one.reader), counts=one.counts, why=one.why)


def _counting_told(one: Counting) -> str:
    word = "counts in" if one.counts else "not in   "
    return f"  {word} {_reader_told(one.reader)}: {one.why}"


def _held(scale: WorkerScale) -> ShownHeld:
    hold = scale.status.hold
    return ShownHeld(
        worker_scale="/".join(scale.key),
        since="" if hold is None else format_instant(hold.since),
        pod_sets={} if hold is None else dict(hold.pod_sets),
        reason="" if hold is None else hold.reason,
    )


def _held_lines(scale: WorkerScale, now: Instant) -> Iterator[str]:
    hold = scale.status.hold
    if hold is None:
        return
    away = ", ".join(f"{several(pods, 'pod')} of {name}" for name, pods in hold.pod_sets)
    since = format_duration(max(0, round(now - hold.since)))
    why = f": {hold.reason}" if hold.reason else ""
    yield f"  held by   WorkerScale {'/'.join(scale.key)} ({away}) for {since}{why}"


def _resting_lines(one: Resting) -> Iterator[str]:
    yield "no trigger judges it; by the policy it would be" if one.own else "judged by"
    yield from (f"  {line}" for line in explained_lines(one.decision, one.remedies))
