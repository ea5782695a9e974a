"""Write Kueue's queues: ResourceFlavor, ClusterQueue, LocalQueue."""

from scaler.sim.patches import Document


def resource_flavor(
    name: str, *, node_labels: dict[str, str], topology: str | None = None
) -> Document:
    """Write a ResourceFlavor; with a topology it is placed host by host before admission."""
    spec: Document = {"nodeLabels": node_labels}
    if topology is not None:
        spec["topologyName"] = topology
    return {"metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str, *, flavor: str, quota: dict[str, str], strict: bool = False
) -> Document:
    """Write a ClusterQueue with one flavor and the quota of each resource."""
    resources = [{"name": resource, "nominalQuota": most} for resource, most in quota.items()]
    return {
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {},
            "queueingStrategy": "StrictFIFO" if strict else "BestEffortFIFO",
            "resourceGroups": [
                {
                    "coveredResources": list(quota),
                    "flavors": [{"name": flavor, "resources": resources}],
                }
            ],
            "stopPolicy": "None",
        },
    }


def with_flavor_before(queue: Document, name: str, *, quota: dict[str, str]) -> Document:
    """Give a ClusterQueue with a flavor that is tried first; its quota of what isn't named is 0."""
    group = queue["spec"]["resourceGroups"][0]
    resources = [{"name": r, "nominalQuota": quota.get(r, "0")} for r in group["coveredResources"]]
    flavors = [{"name": name, "resources": resources}, *group["flavors"]]
    spec = queue["spec"] | {"resourceGroups": [group | {"flavors": flavors}]}
    return queue | {"spec": spec}


def local_queue(name: str, *, namespace: str, cluster_queue: str) -> Document:
    """Write a LocalQueue."""
    spec = {"clusterQueue": cluster_queue, "stopPolicy": "None"}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
