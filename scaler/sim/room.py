"""The room on nodes that Kueue's topology-aware scheduling counts with."""

from collections.abc import Iterator

from scaler.core.model import Amounts, Kind
from scaler.core.quantity import amounts, minus, times
from scaler.sim.conditions import is_true
from scaler.sim.integrations import WORKLOAD
from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.pods import finished, requests_of
from scaler.sim.scheduler import claim_of


def room_for_admission(objects: Objects) -> dict[str, Amounts]:
    """Give each node's allocatable without what is assigned to it, and without other pods.

    Assigned is what a Workload's topologyAssignment says, whether its pods are there or not: the
    place of a held one stays taken.
    """
    free = {
        node["metadata"]["name"]: amounts(node["status"]["allocatable"])
        for node in objects.all(Kind.NODES)
    }
    assigned: set[tuple[str, str]] = set()
    for workload in objects.all(Kind.WORKLOADS):
        for host, claim in _claims(workload):
            metadata = workload["metadata"]
            assigned.add((metadata["namespace"], metadata["name"]))
            if host in free:
                free[host] = minus(free[host], claim)
    for pod in objects.all(Kind.PODS):
        metadata, node = pod["metadata"], pod["spec"].get("nodeName")
        mine = (metadata.get("namespace", ""), metadata.get("annotations", {}).get(WORKLOAD, ""))
        if node in free and mine not in assigned and not finished(pod):
            free[node] = minus(free[node], claim_of(pod))
    return free


def _claims(workload: Document) -> Iterator[tuple[str, Amounts]]:
    """Give (node, requests) for each node that an admission names."""
    admission = workload.get("status", {}).get("admission")
    if not admission or is_true(workload, "Finished"):
        return
    pod_sets = {p["name"]: p["template"]["spec"] for p in workload["spec"]["podSets"]}
    for part in admission["podSetAssignments"]:
        each = requests_of(pod_sets[part["name"]])
        for place in part.get("topologyAssignment", {}).get("slices", []):
            host = place["valuesPerLevel"][0]["universal"]
            yield host, times(each, place["podCounts"]["universal"])
