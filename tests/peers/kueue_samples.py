"""Objects that real controllers wrote decode, and class as what is known of them says."""

import json
from collections.abc import Mapping
from pathlib import Path

from scaler.core.model import Workload
from scaler.core.reasons import WorkloadClass
from scaler.kube.decode import decode
from scaler.kube.resources import ACTUATOR_RESOURCES
from tests.report import Report

KINDS = {resource.object_kind: kind for kind, resource in ACTUATOR_RESOURCES.items()}
STANDING: Mapping[str, WorkloadClass] = {
    "workload-admitted-partial": WorkloadClass.RUNNING,
    "workload-admitted-tas.v1beta1": WorkloadClass.RUNNING,
    "workload-admitted-tas.v1beta2": WorkloadClass.RUNNING,
    "workload-admitted.v1beta1": WorkloadClass.RUNNING,
    "workload-admitted.v1beta2": WorkloadClass.RUNNING,
    "workload-deactivated": WorkloadClass.NOT_DEMAND,
    "workload-evicted-podsready-timeout": WorkloadClass.RUNNING,
    "workload-held-podsready": WorkloadClass.RUNNING,
    "workload-jobset-evicted-on-wake": WorkloadClass.RUNNING,
    "workload-pending-affinity-mismatch": WorkloadClass.NO_FLAVOR,
    "workload-pending-cq-stopped": WorkloadClass.NOT_DEMAND,
    "workload-pending-exceeds-max": WorkloadClass.EXCEEDS,
    "workload-pending-no-localqueue": WorkloadClass.NOT_DEMAND,
    "workload-pending-quota": WorkloadClass.QUOTA,
    "workload-pending-tas-no-fit": WorkloadClass.TOPOLOGY,
    "workload-pending-tas-no-nodes": WorkloadClass.TOPOLOGY,
    "workload-pending-untolerated-taint": WorkloadClass.NO_FLAVOR,
    "workload-preempted": WorkloadClass.QUOTA,
    "workload-pytorchjob-admitted": WorkloadClass.RUNNING,
    "workload-rayjob-admitted": WorkloadClass.RUNNING,
    "workload-tas-nodes-lost-evicted": WorkloadClass.NOT_DEMAND,
    "workload-trainjob-admitted": WorkloadClass.RUNNING,
}


def run(report: Report, *, folder: Path) -> None:
    """Decode and class every sample; each one that is expected must be there."""
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        _try(report, path)
    absent = STANDING.keys() - {path.stem for path in paths}
    report.check("every Workload that is told of is there", ok=not absent, found=sorted(absent))


def _try(report: Report, path: Path) -> None:
    raw = path.read_bytes()
    object_kind = json.loads(raw)["kind"]
    kind = KINDS.get(object_kind)
    if kind is None:
        report.check(f"{path.stem}: {object_kind} is a known kind", ok=False)
        return
    decoded = decode(kind, raw)
    whole = len(decoded.records) == 1 and decoded.skipped == 0
    if not report.check(f"{path.stem} decodes", ok=whole, found=decoded.problems):
        return
    record = decoded.records[0]
    if isinstance(record, Workload):
        expected = STANDING.get(path.stem)
        found = record.standing
        report.check(f"{path.stem} stands as {expected}", ok=found is expected, found=found)
