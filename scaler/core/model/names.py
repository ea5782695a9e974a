"""What all records speak in: instants, names, amounts, kinds, and how far a source is believed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Instant: TypeAlias = float
"""Seconds since the epoch, UTC."""

Name: TypeAlias = tuple[str, str]
"""A namespaced object: (namespace, name)."""

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource name, sorted, without zeros: hashable, so that shapes can be counted."""


class Kind(StrEnum):
    """Name each kind that is read, by its plural (also the file names of a bundle)."""

    WORKLOADS = "workloads"
    CLUSTER_QUEUES = "clusterqueues"
    LOCAL_QUEUES = "localqueues"
    COHORTS = "cohorts"
    RESOURCE_FLAVORS = "resourceflavors"
    ADMISSION_CHECKS = "admissionchecks"
    NODES = "nodes"
    PODS = "pods"
    DEPLOYMENTS = "deployments"
    STATEFUL_SETS = "statefulsets"
    SCALED_OBJECTS = "scaledobjects"
    HPAS = "horizontalpodautoscalers"
    RAY_CLUSTERS = "rayclusters"
    JOBS = "jobs"
    WORKER_SCALES = "workerscales"
    JOB_SETS = "jobsets"
    NOTEBOOKS = "notebooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How far a source can be believed."""

    synced: bool
    """A complete list was read once (and the kind is installed)."""
    last_alive: Instant | None = None
    """Newest event, bookmark or complete list; None before the first."""
    problem: str | None = None
    """What is wrong now, in words (`403 on list workloads`); None while all is well."""
    installed: bool = True
    """False where discovery says that the API server does not serve the kind."""
    skipped: int = 0
    """Objects that are there now and could not be decoded."""
    failures: int = 0
    """Calls, streams and lines that went wrong since the start."""
