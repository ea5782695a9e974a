"""Parse trigger metadata, and name the metric that it stands for.

KEDA passes every key of a trigger on, its own too, all as text. Both functions look at the
metadata alone, so that GetMetricSpec gives the same answer for ever.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar, assert_never

from scaler.core import text
from scaler.core.trigger import (
    IdleTrigger,
    InvalidTrigger,
    Problem,
    QueueTrigger,
    Scope,
    Trigger,
    TriggerRef,
    Unit,
)

T = TypeVar("T")

KEDA_KEYS = frozenset(
    {
        "scalerAddress",
        "enableTLS",
        "unsafeSsl",
        "caCert",
        "tlsClientCert",
        "tlsClientKey",
        "tlsCertFile",
    }
)
"""What KEDA reads from the trigger itself, or once did; it is passed on with the rest."""

QUEUE_KEYS = (
    "clusterQueue",
    "resourceFlavor",
    "resource",
    "unit",
    "scope",
    "pool",
    "gpusPerNode",
    "quotaFollowsNodes",
    "shrink",
    "scaleUpDelay",
)
IDLE_KEYS = (
    "workload",
    "component",
    "idleAfter",
    "busyFromPercent",
    "graceAfterStart",
    "keepAlive",
    "wake",
    "replicas",
    "dryRun",
)
_SIGNALS: Mapping[str, tuple[str, ...]] = {"queue": QUEUE_KEYS, "idle": IDLE_KEYS}
_OURS = ("signal", *QUEUE_KEYS, *IDLE_KEYS)
_OPEN = frozenset({*_OURS, "scalerAddress", "enableTLS", "unsafeSsl"})
"""Keys whose values everybody may see; any other one may hold a key or a token."""
_FROM_ENV = "FromEnv"

_CREDENTIAL = re.compile(r"token|passw|secret|credential|auth|api_?key", re.IGNORECASE)
"""Keys of other scalers, whose values are not for everybody's eyes."""
_SHOWN = 80


def open_metadata(metadata: Iterable[tuple[str, str]]) -> tuple[tuple[str, str | None], ...]:
    """Give metadata for people, by key; None stands for a value that is not for everybody."""
    return tuple((key, value if key in _OPEN else None) for key, value in sorted(metadata))


def parse(metadata: Mapping[str, str]) -> Trigger | InvalidTrigger:
    """Parse a trigger's metadata; give all problems at once where there are any."""
    signal = metadata.get("signal", "")
    reading = _Reading({key: value for key, value in metadata.items() if key not in KEDA_KEYS})
    reading.check_keys(signal)
    trigger: Trigger | None = None
    if signal == "queue":
        trigger = _queue(reading)
        _check_queue(reading, trigger)
    elif signal == "idle":
        trigger = _idle(reading)
    else:
        _queue(reading)
        _idle(reading)
    if trigger is None or reading.problems:
        ordered = sorted(reading.problems, key=lambda problem: problem.path)
        return InvalidTrigger(problems=tuple(ordered))
    return trigger


def _queue(reading: "_Reading") -> QueueTrigger:
    return QueueTrigger(
        cluster_queues=reading.get("clusterQueue", text.names, ()),
        flavor=reading.get("resourceFlavor", text.name, None),
        resource=reading.get("resource", text.resource, "nvidia.com/gpu"),
        unit=reading.get("unit", text.choice(Unit), Unit.NODES),
        scope=reading.get("scope", text.choice(Scope), Scope.TOTAL),
        pool=reading.get("pool", text.name, None),
        gpus_per_node=reading.get("gpusPerNode", text.whole(1024), None),
        quota_follows_nodes=reading.get("quotaFollowsNodes", text.boolean, False),
        scale_up_delay=reading.get("scaleUpDelay", text.span, 0.0),
    )


def _idle(reading: "_Reading") -> IdleTrigger:
    return IdleTrigger(
        workload=reading.get("workload", text.workload, None),
        component=reading.get("component", text.name, None),
        idle_after=reading.get("idleAfter", text.positive_span, None),
        busy_from_percent=reading.get("busyFromPercent", text.percent, None),
        grace_after_start=reading.get("graceAfterStart", text.span, None),
        keep_alive=reading.get("keepAlive", text.query, None),
        wake=reading.get("wake", text.query, None),
        replicas=reading.get("replicas", text.whole(1_000_000), None),
        dry_run=reading.get("dryRun", text.boolean, None),
    )


def _check_queue(reading: "_Reading", trigger: QueueTrigger) -> None:
    """Hold the keys of a queue signal against each other."""
    given = reading.metadata
    if "clusterQueue" not in given:
        reading.refuse("clusterQueue", "it is required: a ClusterQueue's name, or a comma list")
    if trigger.unit is Unit.NODES and not {"pool", "gpusPerNode"} & given.keys():
        reading.refuse(
            "pool/gpusPerNode",
            "unit nodes needs one of them: pool (a pool of the policy) or gpusPerNode "
            "(a whole number from 1 to 1024)",
        )
    if "shrink" not in given:
        return
    if trigger.unit is not Unit.NODES or trigger.scope is not Scope.TOTAL:
        reading.refuse("shrink", "the key goes with unit nodes and scope total alone: leave it out")
    elif given["shrink"] != "never":
        reading.refuse("shrink", "allowed is never: no node is ever taken away by KEDA")


class _Reading:
    """Metadata being read, and what is wrong with it so far."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self.metadata = metadata
        self.problems: list[Problem] = []

    def get(self, key: str, read: Callable[[str], T], default: T) -> T:
        """Read a key; note a problem and give the default where its text is malformed."""
        if key not in self.metadata:
            return default
        try:
            return read(self.metadata[key])
        except ValueError as error:
            self.refuse(key, str(error))
            return default

    def refuse(self, key: str, allowed: str) -> None:
        """Note a problem with a key, present or missing."""
        # The one's value comes from the target's environment, the other's was meant for a scaler.
        secret = key.endswith(_FROM_ENV) or _CREDENTIAL.search(key) is not None
        value = "" if secret else self.metadata.get(key, "")[:_SHOWN]
        self.problems.append(Problem(path=key, value=value, allowed=allowed))

    def check_keys(self, signal: str) -> None:
        """Note an unknown signal, and every key that does not belong to the signal."""
        if signal not in _SIGNALS:
            required = "" if "signal" in self.metadata else "it is required: "
            self.refuse("signal", f"{required}allowed are queue and idle")
        allowed = ("signal", *_SIGNALS[signal]) if signal in _SIGNALS else _OURS
        for key in self.metadata.keys() - set(allowed):
            self.refuse(key, _why_not(key, allowed))


def _why_not(key: str, allowed: tuple[str, ...]) -> str:
    stem = key.removesuffix(_FROM_ENV)
    if stem != key and stem in _OURS:
        return f"KEDA drops it silently where the variable is empty; give {stem} as plain text"
    if key in _OURS:
        other = "queue" if key in QUEUE_KEYS else "idle"
        return f"the key belongs to signal {other}"
    near = get_close_matches(key, allowed, n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"the key is unknown; {guess}allowed are {', '.join(allowed)}"


# --- the metric --------------------------------------------------------------------------------


# Equal triggers are written alike, which is what the name is made of: parse() gives every field
# one type, and never 60 where another trigger has 60.0.
@lru_cache(maxsize=16384)
def metric_name(source: Trigger | TriggerRef) -> str:
    """Name the metric of a trigger in `[a-z0-9-]`, at most 43 long; empty for malformed metadata.

    Triggers of one meaning share a name. Values that are defaults don't bear on it, so that a
    key which comes with a later version changes no name.
    """
    match source:
        case QueueTrigger():
            queues = tuple(sorted(source.cluster_queues))
            ordered = replace(source, cluster_queues=queues)
            return _metric("queue", hint=queues[0], trigger=ordered)
        case IdleTrigger():
            return _metric("idle", hint=source.workload or source.component or "", trigger=source)
        case TriggerRef():
            trigger = parse(dict(source.metadata))
            return "" if isinstance(trigger, InvalidTrigger) else metric_name(trigger)
        case _:
            assert_never(source)


def _metric(signal: str, *, hint: str, trigger: Trigger) -> str:
    given = {
        field.name: str(value) if isinstance(value, StrEnum) else value
        for field in fields(trigger)
        if (value := getattr(trigger, field.name)) != field.default
    }
    meaning = repr([signal, sorted(given.items())])
    digest = hashlib.sha256(meaning.encode()).hexdigest()[:12]
    readable = re.sub(r"[^a-z0-9]+", "-", hint.lower())[:24].strip("-")
    return "-".join(part for part in (signal, readable, digest) if part)
