"""A pool's nodes: what each still offers, and which can be counted on.

Usable: Ready, schedulable, its devices there, no taint in the way, not deleting. Coming: not yet
Ready, without devices or behind a start-up taint while young, NotReady for less than
notReadyGrace, and the nodes of the target's size that have no Node yet while the last resize is
young. The rest is broken: it offers nothing and stays in the size.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaler.core.constraints import HOSTNAME, untolerated
from scaler.core.model import (
    Amounts,
    Instant,
    Node,
    ScaledObject,
    Taint,
    TargetRef,
    Toleration,
)
from scaler.core.nodes.bins import Stage
from scaler.core.nodes.node_state import (
    KUBERNETES,
    has_devices,
    held_on,
    is_idle,
    is_settled,
    is_young,
    left_of,
    taints_of,
    turned,
)
from scaler.core.nodes.packing import Space
from scaler.core.policy import Pool
from scaler.core.snapshot import Snapshot

_BETWEEN = {"MachineSet": "", "MachineDeployment": "(-[a-z0-9]+)?"}
"""What stands in a Machine's name between its owner's and the random part, by the target's kind."""

_SEVERAL = 2
"""Nodes that must agree before a label or taint is taken for the pool's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The nodes of one pool at one moment."""

    spaces: tuple[Space, ...]
    """Of usable and coming nodes, those without a Node yet among them."""
    present: int
    usable: int
    coming: int
    broken: int
    labels: Mapping[str, str]
    """Labels that a new node will bear, as far as that can be known."""
    taints: tuple[Taint, ...]
    """Taints that a new node will bear, as far as that can be known."""
    may_bear: frozenset[str] | None
    """Keys of labels that a new node may bear; None = not known."""
    offered: Amounts | None
    """The most that nodes turned out to offer which came while pods waited; None = too few came."""
    newest_ready: Instant | None
    """When the last of the usable nodes turned Ready."""


def fleet_of(
    *,
    snapshot: Snapshot,
    pool: Pool,
    tolerations: Sequence[Toleration] = (),
    size: int | None,
    resized_at: Instant | None,
    since: Instant | None = None,
    target: TargetRef | None = None,
    now: Instant,
) -> Fleet:
    """Judge the nodes that match the pool's selector.

    `tolerations` are those of the pool's flavors and of the pods that need a place. `size` is the
    target's (None: nodes without a Node are not counted), `resized_at` the last change of it.
    `since` is when the oldest of the needs began. Nodes that are surely not of the `target` stand
    for none of its size.
    """
    nodes = [one for _, one in sorted(snapshot.nodes.items()) if belongs(one, pool)]
    own_taints = _shared_taints(nodes, pool, now)
    stages = [
        (one, _stage(one, pool=pool, tolerations=tolerations, own_taints=own_taints, now=now))
        for one in nodes
    ]
    labels = _shared_labels(nodes, pool)
    may_bear = _label_keys(nodes, pool, now)
    staying = sum(not one.deleting and may_be_of(one, target) for one in nodes)
    young = resized_at is not None and now - resized_at < pool.provisioning_timeout
    unborn = max(0, size - staying) if size is not None and young else 0
    requests = {one.name: held_on(snapshot, one.name, pool, now) for one in nodes}
    spaces = [
        _coming(one, pool, requests.get(one.name, ()), own_taints)
        if stage is Stage.COMING
        else _usable(one, pool, requests.get(one.name, ()), young=is_young(one, pool, now))
        for one, stage in stages
        if stage is not None
    ]
    if unborn:
        spaces.append(
            _unborn(pool, labels=labels, may_bear=may_bear, taints=own_taints, count=unborn)
        )
    count = Counter(stage for _, stage in stages)
    return Fleet(
        spaces=tuple(spaces),
        present=len(nodes),
        usable=count[Stage.USABLE],
        coming=count[Stage.COMING] + unborn,
        broken=count[None],
        labels=labels,
        taints=own_taints,
        may_bear=may_bear,
        offered=_offered([one for one in nodes if _came(one, pool, since, now)], pool, requests),
        newest_ready=max(
            (turned(one) for one, stage in stages if stage is Stage.USABLE), default=None
        ),
    )


def belongs(node: Node, pool: Pool) -> bool:
    """Say whether a node is the pool's; of an open-ended one, if it shows the devices too.

    Its labels are those of a ResourceFlavor, which nodes without devices may bear as well.
    """
    if pool.open_ended and not has_devices(node, pool):
        return False
    return all(node.labels.get(key) == value for key, value in pool.node_selector)


def may_be_of(node: Node, target: TargetRef | None) -> bool:
    """Say whether a node may be one of the target's; only a Machine's name can tell that it isn't.

    A MachineSet calls its Machines by its own name and a random part, a MachineDeployment puts
    that of a MachineSet between.
    """
    between = None if target is None else _BETWEEN.get(target.kind)
    if target is None or between is None or node.machine is None:
        return True
    pattern = f"{re.escape(target.name)}{between}-[a-z0-9]{{5}}"
    return re.fullmatch(pattern, node.machine) is not None


def resized_at(*, snapshot: Snapshot, scaled_object: ScaledObject | None) -> Instant | None:
    """Give the last change of the target's size by its HorizontalPodAutoscaler, None = not known.

    The later of lastScaleTime and the ScalingActive condition's lastTransitionTime, as KEDA's own
    step from zero sets no lastScaleTime. Where that condition went from ScalingDisabled to a
    failure it kept its time, and tells nothing of that step.
    """
    if scaled_object is None or scaled_object.hpa_name is None:
        return None
    hpa = snapshot.hpas.get((scaled_object.namespace, scaled_object.hpa_name))
    if hpa is None or hpa.scaling_failed:
        return None
    times = (hpa.last_scale, hpa.scaling_active_changed)
    return max((one for one in times if one is not None), default=None)


def _stage(
    node: Node,
    *,
    pool: Pool,
    tolerations: Sequence[Toleration],
    own_taints: tuple[Taint, ...],
    now: Instant,
) -> Stage | None:
    """Give the node's stage, None = broken."""
    if node.deleting or node.unschedulable:
        return None
    if not node.ready:
        just = now - turned(node) < pool.not_ready_grace
        return Stage.COMING if just or is_young(node, pool, now) else None
    foreign = untolerated(taints_of(node), (*tolerations, *_tolerating(own_taints)))
    if has_devices(node, pool) and not foreign:
        return Stage.USABLE
    return Stage.COMING if is_young(node, pool, now) else None


def _tolerating(taints: Iterable[Taint]) -> Iterable[Toleration]:
    return (Toleration(key=one.key, value=one.value, effect=one.effect) for one in taints)


def _shared_taints(nodes: Iterable[Node], pool: Pool, now: Instant) -> tuple[Taint, ...]:
    """Give the taints of every settled node: the pool's own, which new nodes will bear too.

    Without them a pod that tolerates none of the pool's nodes would buy one more for ever.
    """
    settled = [frozenset(taints_of(one)) for one in nodes if is_settled(one, pool, now)]
    if len(settled) < _SEVERAL:
        return ()
    shared = frozenset.intersection(*settled)
    return tuple(sorted((one for one in shared if not one.key.startswith(KUBERNETES)), key=repr))


def _shared_labels(nodes: Sequence[Node], pool: Pool) -> Mapping[str, str]:
    """Give the selector's labels, and those on which several nodes all agree."""
    if len(nodes) < _SEVERAL:
        return dict(pool.node_selector)
    shared = frozenset.intersection(*(frozenset(one.labels.items()) for one in nodes))
    return {key: value for key, value in shared if key != HOSTNAME}


def _label_keys(nodes: Iterable[Node], pool: Pool, now: Instant) -> frozenset[str] | None:
    """Give the keys that any settled node bears: a key that none has a new one won't have.

    Else a flavor's label that the pool's nodes lack would buy one more for ever.
    """
    settled = [frozenset(one.labels) for one in nodes if is_settled(one, pool, now)]
    return None if len(settled) < _SEVERAL else frozenset.union(*settled)


def _came(node: Node, pool: Pool, since: Instant | None, now: Instant) -> bool:
    """Say whether the node came for pods that wait since then, and shows what it has."""
    if since is None or node.created < since:
        return False
    shows = has_devices(node, pool) or not is_young(node, pool, now)
    return shows and node.ready and not node.deleting and not node.unschedulable


def _offered(came: Sequence[Node], pool: Pool, requests: Mapping[str, Amounts]) -> Amounts | None:
    """Give the most that these nodes offer, by resource: of idle ones what is free, else all.

    The policy says what a node should offer. Where several came and offer less (DaemonSets, a
    smaller type, no driver), one more would be as little use.
    """
    taken = [(one.allocatable, requests.get(one.name, ())) for one in came]
    shown = [left_of(there, asked) for there, asked in taken if is_idle(pool, asked)]
    if len(shown) < _SEVERAL:
        shown = [there for there, _ in taken]
    if len(shown) < _SEVERAL:
        return None
    most: Counter[str] = Counter()
    for one in shown:
        most |= Counter(dict(one))
    return tuple(sorted(most.items()))


def _usable(node: Node, pool: Pool, requested: Amounts, *, young: bool) -> Space:
    """Give what a node offers; while it is young, labels may come later than its devices."""
    return Space(
        free=left_of(node.allocatable, requested),
        labels=node.labels,
        taints=taints_of(node),
        idle=is_idle(pool, requested),
        labelled=not young,
    )


def _coming(node: Node, pool: Pool, requested: Amounts, own_taints: tuple[Taint, ...]) -> Space:
    """Give what a node will offer; of its taints those will stay that are the pool's own.

    It may lack labels yet: those of device discovery come with the devices.
    """
    return Space(
        free=left_of(_completed(node.allocatable, pool.node), requested),
        labels=node.labels,
        taints=tuple(one for one in taints_of(node) if one in own_taints),
        stage=Stage.COMING,
        idle=is_idle(pool, requested),
        labelled=False,
    )


def _completed(allocatable: Amounts, node: Amounts) -> Amounts:
    """Add what the pool's nodes offer and this one does not show yet."""
    there = {resource: amount for resource, amount in allocatable if amount}
    return tuple(sorted((dict(node) | there).items()))


def _unborn(
    pool: Pool,
    *,
    labels: Mapping[str, str],
    may_bear: frozenset[str] | None,
    taints: tuple[Taint, ...],
    count: int,
) -> Space:
    return Space(
        free=pool.node,
        labels=labels,
        taints=taints,
        stage=Stage.COMING,
        complete=False,
        may_bear=may_bear,
        count=count,
    )
