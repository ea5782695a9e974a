"""Whether Kueue would admit a Workload now, and in its own words why not.

Quota without borrowing, one flavor after another; a flavor with a topology needs room on nodes
that are there already, host by host, as topology-aware scheduling does.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from scaler.core.model import Amounts
from scaler.core.quantity import amount, minus, times
from scaler.sim.patches import Document
from scaler.sim.pods import admits, requests_of
from scaler.sim.scheduler import covers

HOSTNAME = "kubernetes.io/hostname"
Used: TypeAlias = Mapping[tuple[str, str], int]
"""Reserved quota by (flavor, resource)."""


class Cause(StrEnum):
    """Why a Workload waits, in the reasons of Kueue 0.19; the most severe first."""

    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"


SEVERITY = list(Cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The Workload waits; the message is the QuotaReserved condition's."""

    cause: Cause
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The Workload can be admitted."""

    flavors: dict[str, str]
    """Resource -> flavor."""
    hosts: dict[str, int] = field(default_factory=dict)
    """Pods by node, where the flavor has a topology; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What assignments are made on."""

    used: Used
    flavors: Mapping[str, Document]
    """ResourceFlavors by name."""
    nodes: Sequence[Document]
    free: Mapping[str, Amounts]
    """Free space by node."""


def usage_of(pod_set: Document) -> dict[str, int]:
    """Give what a podset takes of quota; a podset without pods takes 0 of what one would."""
    each = requests_of(pod_set["template"]["spec"])
    return {resource: number * pod_set["count"] for resource, number in each}


def assign_all(
    pod_sets: Sequence[Document], cluster_queue: Document, ground: Ground
) -> list[Fits] | Waits:
    """Find flavors for all podsets, one after the other; the first that waits decides."""
    found: list[Fits] = []
    for pod_set in pod_sets:
        answer = assign(pod_set, cluster_queue, ground)
        if isinstance(answer, Waits):
            return answer
        found.append(answer)
        ground = _taken(ground, pod_set, answer)
    return found


def _taken(ground: Ground, pod_set: Document, fits: Fits) -> Ground:
    each, used, free = requests_of(pod_set["template"]["spec"]), Counter(ground.used), ground.free
    for resource, number in usage_of(pod_set).items():
        used[fits.flavors[resource], resource] += number
    free = {**free, **{h: minus(free[h], times(each, n)) for h, n in fits.hosts.items()}}
    return replace(ground, used=used, free=free)


def assign(pod_set: Document, cluster_queue: Document, ground: Ground) -> Fits | Waits:
    """Find flavors for a podset in the ClusterQueue's order."""
    wanted = usage_of(pod_set)
    chosen = Fits(flavors={})
    for group in cluster_queue["spec"]["resourceGroups"]:
        mine = {r: n for r, n in wanted.items() if r in group["coveredResources"]}
        if not mine:
            continue
        found = _first_fit(pod_set, mine, group["flavors"], ground)
        if isinstance(found, Waits):
            return found
        chosen = Fits(flavors=chosen.flavors | found.flavors, hosts=found.hosts or chosen.hosts)
    for resource in sorted(wanted.keys() - chosen.flavors.keys()):
        return _waits(
            Cause.NO_MATCHING_FLAVOR, pod_set, f"resource {resource} unavailable in ClusterQueue"
        )
    return chosen


def _first_fit(
    pod_set: Document, wanted: Mapping[str, int], flavors: Sequence[Document], ground: Ground
) -> Fits | Waits:
    refusals = []
    for flavor in flavors:
        answer = _try(pod_set, wanted, flavor, ground)
        if isinstance(answer, Fits):
            return answer
        refusals.append(answer)
    return min(refusals, key=lambda refusal: SEVERITY.index(refusal.cause))


def _try(
    pod_set: Document, wanted: Mapping[str, int], flavor: Document, ground: Ground
) -> Fits | Waits:
    name: str = flavor["name"]
    if name not in ground.flavors:
        return _waits(Cause.NO_MATCHING_FLAVOR, pod_set, f"flavor {name} not found")
    quotas = {q["name"]: amount(q["name"], q["nominalQuota"]) for q in flavor["resources"]}
    for resource, number in sorted(wanted.items()):
        most = quotas.get(resource, 0)
        where = f"for {resource} in flavor {name}"
        if number > most:
            text = (
                f"insufficient quota {where}, previously considered podsets requests (0)"
                f" + current podset request ({number}) > maximum capacity ({most})"
            )
            return _waits(Cause.EXCEEDS_MAX_QUOTA, pod_set, text)
        missing = ground.used.get((name, resource), 0) + number - most
        if missing > 0:
            text = f"insufficient unused quota {where}, {missing} more needed"
            return _waits(Cause.WAITING_FOR_QUOTA, pod_set, text)
    hosts = _place(pod_set, ground.flavors[name], ground)
    return (
        hosts
        if isinstance(hosts, Waits)
        else Fits(flavors=dict.fromkeys(wanted, name), hosts=hosts)
    )


def _place(pod_set: Document, flavor: Document, ground: Ground) -> dict[str, int] | Waits:
    topology = flavor["spec"].get("topologyName")
    if topology is None:
        return {}
    spec = pod_set["template"]["spec"]
    selected = {"nodeSelector": flavor["spec"].get("nodeLabels", {}), **_tolerations(spec, flavor)}
    nodes = [n["metadata"]["name"] for n in ground.nodes if admits(n, selected)]
    if not nodes:
        text = f"no topology domains at level: {HOSTNAME}"
        return _waits(Cause.TOPOLOGY_PLACEMENT_FAILED, pod_set, text)
    hosts, left = {}, pod_set["count"]
    for node in nodes:
        room = min(_room(ground.free[node], requests_of(spec)), left)
        if room:
            hosts[node] = room
            left -= room
    if not left:
        return hosts
    return _waits(
        Cause.TOPOLOGY_PLACEMENT_FAILED,
        pod_set,
        _no_fit(topology, fits=pod_set["count"] - left, of=pod_set["count"], nodes=len(nodes)),
    )


def _tolerations(spec: Document, flavor: Document) -> Document:
    both = [*spec.get("tolerations", []), *flavor["spec"].get("tolerations", [])]
    return {"tolerations": both}


def _room(free: Amounts, each: Amounts) -> int:
    number = 0
    while covers(free, each):
        free = minus(free, each)
        number += 1
    return number


def _no_fit(topology: str, *, fits: int, of: int, nodes: int) -> str:
    some = f"allows to fit only {fits} out of {of} pod(s)"
    none = f"doesn't allow to fit any of {of} pod(s)"
    return f'topology "{topology}" {some if fits else none}. Total nodes: {nodes}'


def _waits(cause: Cause, pod_set: Document, text: str) -> Waits:
    name = pod_set["name"]
    return Waits(cause=cause, message=f"couldn't assign flavors to pod set {name}: {text}")
