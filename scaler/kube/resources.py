"""The one table of what is read from the API server, and written: deploy/'s RBAC follows it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from scaler.core.model import Kind
from scaler.kube.rows import KUEUE, SERVE_ROWS, Resource
from scaler.kube.rows_hold import ACTUATOR_ROWS, OWN_GROUP, WORKER_SCALE_ROW

__all__ = [
    "ACTUATOR_RESOURCES",
    "EVENT_RULE",
    "KINDS",
    "LEASE_RULE",
    "PATCH_RULES",
    "RESOURCES",
    "Resource",
    "Rule",
    "actuator_rules",
    "rules",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a ClusterRole."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str = field(default="", compare=False)
    """What it is for, where the names don't say."""


RESOURCES: Mapping[Kind, Resource] = MappingProxyType(
    {row.kind: row for row in (*SERVE_ROWS, WORKER_SCALE_ROW)}
)
"""Every kind that `serve` reads."""

ACTUATOR_RESOURCES: Mapping[Kind, Resource] = MappingProxyType(
    {**RESOURCES, **{row.kind: row for row in ACTUATOR_ROWS}}
)
"""Every kind that `actuate` reads: those of `serve`, the objects that it changes whole."""

KINDS = ACTUATOR_RESOURCES
"""Every kind there is, whoever reads it."""

EVENT_RULE = Rule(group="", resources=("events",), verbs=("create", "patch"))
"""Events are all that `serve` writes."""

PATCH_RULES = tuple(
    Rule(group=group, resources=resources, verbs=("patch",), why=why)
    for group, resources, why in (
        ("batch", ("jobs",), "Child Jobs of JobSets: parallelism."),
        (
            "kubeflow.org",
            ("notebooks",),
            "Annotation kubeflow-resource-stopped, in mode Release alone.",
        ),
        (OWN_GROUP, ("workerscales", "workerscales/status"), ""),
        (KUEUE, ("workloads",), "spec.active, in mode Release alone."),
        ("ray.io", ("rayclusters",), "workerGroupSpecs[].suspend."),
    )
)
"""What `actuate` changes, and nothing else."""

LEASE_RULE = Rule(
    group="coordination.k8s.io", resources=("leases",), verbs=("create", "get", "patch")
)
"""By which one of several actuators leads; in its own namespace only."""


def rules() -> tuple[Rule, ...]:
    """Give the rules of the ClusterRole of `serve`: one a group and set of verbs, sorted."""
    return _sorted((*_reading(RESOURCES), EVENT_RULE))


def actuator_rules() -> tuple[Rule, ...]:
    """Give the rules of the ClusterRole of `actuate`; LEASE_RULE is a Role's beside it."""
    return _sorted((*_reading(ACTUATOR_RESOURCES), EVENT_RULE, *PATCH_RULES))


def _reading(table: Mapping[Kind, Resource]) -> Iterator[Rule]:
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for resource in table.values():
        grouped.setdefault((resource.group, resource.verbs), []).append(resource.plural)
    for (group, verbs), plurals in grouped.items():
        yield Rule(group=group, resources=tuple(sorted(plurals)), verbs=verbs)


def _sorted(found: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(found, key=lambda rule: (rule.group, rule.resources, rule.verbs)))
