"""The one table of the policy's keys: parser and JSON Schema both come out of it."""

from collections.abc import Mapping

from scaler.core.policy import (
    MassIdle,
    Policy,
    Pool,
    Prices,
    Safety,
    Schedule,
    Thresholds,
    WorkerKind,
    WorkerScales,
)
from scaler.core.quantity import amounts
from scaler.policyfile import leaves as leaf
from scaler.policyfile.prometheus_fields import PROMETHEUS
from scaler.policyfile.shapes import Listing, Section, Table, optional, required


def _sorted_pairs(entries: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(entries.items()))


def _node(entries: Mapping[str, object]) -> object:
    return amounts(
        {key: value for key, value in entries.items() if isinstance(value, str | int | float)}
    )


def _values(entries: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(entries.values())


THRESHOLDS = Section(
    build=Thresholds,
    fields=(
        optional(
            "idleAfter",
            leaf.SPAN,
            about="How long every GPU must be seen idle; within safety.idleAfterMin and Max.",
        ),
        optional("busyFromPercent", leaf.PERCENT, about="A GPU at or above this is busy."),
        optional(
            "graceAfterStart",
            leaf.SPAN_OR_ZERO,
            about="Time for a pod to load after it is Ready; idleAfter begins then.",
        ),
        optional(
            "dryRun",
            leaf.BOOLEAN,
            about="Report what would be scaled to zero, and keep it. Any level that says so wins.",
        ),
        optional(
            "keepAlive", leaf.TITLE, about="Name of a query; any value above 0 keeps the workload."
        ),
        optional(
            "wake", leaf.TITLE, about="Name of a query; any value above 0 wakes the workload."
        ),
    ),
)

POOL = Section(
    build=Pool,
    named=True,
    fields=(
        required(
            "nodeSelector",
            Table(key=leaf.LABEL_KEY, value=leaf.LABEL_VALUE, build=_sorted_pairs, least=1),
            about="Labels of the pool's nodes; no node may match two pools.",
        ),
        required(
            "node",
            Table(key=leaf.RESOURCE, value=leaf.QUANTITY_ABOVE_ZERO, build=_node, least=1),
            about="What one node offers to jobs: allocatable less what DaemonSets take.",
        ),
        required("maxNodes", leaf.whole(1, 100_000), about="Growth stops here."),
        optional(
            "spareNodes",
            leaf.whole(0, 100_000),
            about="Nodes kept without work, for whoever comes next.",
            default=0,
        ),
        optional(
            "provisioningTimeout",
            leaf.SPAN,
            about="How long a node that was asked for may take to offer its GPUs.",
            default="15m",
        ),
        optional(
            "notReadyGrace",
            leaf.SPAN_OR_ZERO,
            about="A node that is NotReady for longer counts as broken.",
            default="5m",
        ),
    ),
)

SAFETY = Section(
    build=Safety,
    fields=(
        optional(
            "minCoveragePercent",
            leaf.PERCENT_OR_ZERO,
            about="With fewer of the samples that a window should hold, nothing is idle.",
            default=90,
        ),
        optional(
            "maxSampleAge",
            leaf.SPAN,
            about="With no newer sample, a device is unknown.",
            default="90s",
        ),
        optional(
            "maxWatchAge",
            leaf.SPAN,
            about="A watch without a sign of life for so long is stale.",
            default="5m",
        ),
        optional(
            "massIdle",
            Section(
                build=MassIdle,
                fields=(
                    optional(
                        "workloads",
                        leaf.whole(1, 1_000_000),
                        about="At least so many workloads ...",
                        default=20,
                    ),
                    optional(
                        "percent",
                        leaf.PERCENT_OR_ZERO,
                        about="... and this part of those with samples must turn idle together.",
                        default=50,
                    ),
                    optional(
                        "for",
                        leaf.SPAN,
                        about="The brake lets go after this.",
                        default="1h",
                        attribute="hold_for",
                    ),
                ),
            ),
            about="The brake: when many turn idle at once, the telemetry is doubted first.",
        ),
        optional(
            "powerVetoWatts",
            Table(key=leaf.MODEL, value=leaf.POSITIVE),
            about="modelName to watts: a device that draws as much is busy, whatever it says.",
            default={},
        ),
        optional("idleAfterMin", leaf.SPAN, about="No idleAfter is shorter.", default="5m"),
        optional("idleAfterMax", leaf.SPAN, about="No idleAfter is longer.", default="24h"),
        optional(
            "triggerQueries",
            leaf.BOOLEAN,
            about="Triggers may bring PromQL of their own as keepAlive and wake.",
            default=False,
        ),
    ),
)

SCHEDULE = Section(
    build=Schedule,
    named=True,
    fields=(
        required(
            "days",
            Listing(value=leaf.DAY, build=frozenset, least=1),
            about="Days on which the span begins.",
        ),
        required(
            "from", leaf.CLOCK, about="Begin, by the zone's wall clock.", attribute="from_minute"
        ),
        required(
            "to",
            leaf.CLOCK,
            about="End; at or before `from` it is on the next day.",
            attribute="to_minute",
        ),
        required("timezone", leaf.ZONE, about="IANA name."),
        optional(
            "spareNodes",
            Table(key=leaf.NAME, value=leaf.whole(0, 100_000)),
            about="Pool to spare nodes, instead of the pool's own number.",
            default={},
        ),
        optional(
            "keepActive",
            Listing(value=leaf.NAME, build=frozenset),
            about="Namespaces whose workloads are never idle within the span.",
            default=(),
        ),
    ),
)

WORKER_SCALES = Section(
    build=WorkerScales,
    fields=(
        optional(
            "kinds",
            Listing(value=leaf.WORKER_KIND, build=frozenset),
            about="Kinds whose workers a WorkerScale may take; an empty list allows none.",
            default=tuple(WorkerKind),
        ),
        optional(
            "orphanAfter",
            leaf.SPAN,
            about="Workers are given back once their WorkerScale is gone for so long.",
            default="60s",
        ),
    ),
)

PRICES = Section(
    build=Prices,
    fields=(
        required("currency", leaf.CURRENCY, about="What all prices are in."),
        optional("gpuHour", leaf.PRICE, about="An hour of any GPU that has no price of its own."),
        optional(
            "resourceFlavors",
            Table(key=leaf.NAME, value=leaf.PRICE),
            about="An hour of a GPU by the ResourceFlavor that it was admitted on.",
            default={},
        ),
        optional(
            "models",
            Table(key=leaf.MODEL, value=leaf.PRICE),
            about="An hour of a GPU by modelName, where its ResourceFlavor has no price.",
            default={},
        ),
    ),
)

POLICY = Section(
    build=Policy,
    fields=(
        optional(
            "defaults",
            THRESHOLDS,
            about="For every idle trigger. Built in: 30m, 1 %, 10m, no dry run.",
        ),
        optional(
            "kinds",
            Table(key=leaf.KIND, value=THRESHOLDS),
            about="By the kind of the workload's owner; stronger than defaults.",
            default={},
        ),
        optional(
            "clusterQueues",
            Table(key=leaf.NAME, value=THRESHOLDS),
            about="By ClusterQueue; stronger than kinds.",
            default={},
        ),
        optional(
            "namespaces",
            Table(key=leaf.NAME, value=THRESHOLDS),
            about="By namespace; stronger than clusterQueues, weaker than a trigger.",
            default={},
        ),
        optional(
            "pools",
            Table(key=leaf.NAME, value=POOL),
            about="A pool is one scale target's nodes. Shared work goes to them in this order.",
            default={},
        ),
        optional(
            "prometheus", PROMETHEUS, about="Where samples come from, and what they are called."
        ),
        optional("safety", SAFETY, about="What must be known before anything is called idle."),
        optional(
            "queries",
            Table(key=leaf.TITLE, value=leaf.QUERY),
            about="PromQL by name, for keepAlive and wake. $namespace and $workload are filled in.",
            default={},
        ),
        optional(
            "schedules",
            Table(key=leaf.TITLE, value=SCHEDULE, build=_values),
            about="Weekly spans. Where they overlap: the larger spareNodes, any keepActive.",
            default={},
        ),
        optional("workerScales", WORKER_SCALES, about="What WorkerScales may do in this cluster."),
        optional("prices", PRICES, about="What GPUs cost, for dashboards; no decision reads it."),
    ),
)
