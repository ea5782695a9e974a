"""What must hold between a ScaledObject and what is checked together with it."""

from collections.abc import Iterator, Sequence

from scaler.commands.check_files import Checked, Finding, Manifest, at
from scaler.commands.check_rules import OurTrigger, our_triggers, sizes
from scaler.core.policy import Policy
from scaler.core.quantity import format_duration
from scaler.core.trigger import IdleTrigger, QueueTrigger
from scaler.policyfile.document import Path

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def judge_company(checked: Checked) -> Iterator[Finding]:
    """Judge ScaledObjects against the policies, StatefulSets and ScaledObjects beside them."""
    owners: dict[str, Manifest] = {}
    stateful_sets = [one for one in checked.manifests if one.kind == "StatefulSet"]
    for manifest in checked.manifests:
        ours = our_triggers(manifest) if manifest.kind == "ScaledObject" else ()
        if ours and at(manifest.tree, "spec", "scaleTargetRef", "kind") == "StatefulSet":
            yield from _stateful_set(manifest, stateful_sets)
        for trigger in ours:
            yield from _shared_pool(manifest, trigger, owners)
            if checked.policies:
                yield from _policy(manifest, trigger, checked.policies)


def _stateful_set(manifest: Manifest, stateful_sets: list[Manifest]) -> Iterator[Finding]:
    """Kueue lets a StatefulSet go N->0 and 0->M only."""
    least, most, idle = sizes(manifest)
    if idle == 0 and least == most:
        return
    path: Path = ("spec", "idleReplicaCount")
    value = f"idleReplicaCount {idle}, minReplicaCount {least}, maxReplicaCount {most}"
    needed = "needs idleReplicaCount: 0 and minReplicaCount = maxReplicaCount"
    name = str(at(manifest.tree, "spec", "scaleTargetRef", "name"))
    target = next((one for one in stateful_sets if _is_target(one, manifest, name)), None)
    if target is None:
        allowed = (
            f"StatefulSet {name} is not among the files, so whether Kueue manages it is not known; "
            f"if it does, it {needed}"
        )
        yield manifest.warning(path, value=value, allowed=allowed)
    elif at(target.tree, "metadata", "labels", QUEUE_LABEL):
        allowed = f"a StatefulSet under Kueue {needed}: Kueue allows no other steps"
        yield manifest.error(path, value=value, allowed=allowed)


def _is_target(target: Manifest, manifest: Manifest, name: str) -> bool:
    """Compare names; a namespace that a file leaves out may be any."""
    places = {target.namespace, manifest.namespace}
    return target.name == name and (len(places) == 1 or "" in places)


def _shared_pool(
    manifest: Manifest, trigger: OurTrigger, owners: dict[str, Manifest]
) -> Iterator[Finding]:
    pool = trigger.parsed.pool if isinstance(trigger.parsed, QueueTrigger) else None
    if pool is None or not trigger.sizes_pool:
        return
    first = owners.setdefault(pool, manifest)
    if first.subject != manifest.subject:
        allowed = f"{first.subject} sizes it too: the older one does, the other holds"
        path = (*trigger.path, "metadata", "pool")
        yield manifest.warning(path, value=pool, allowed=allowed)


def _policy(
    manifest: Manifest, trigger: OurTrigger, policies: tuple[Policy, ...]
) -> Iterator[Finding]:
    match trigger.parsed:
        case QueueTrigger() as queue:
            pools = sorted({name for policy in policies for name in policy.pools})
            if queue.pool is not None and queue.pool not in pools:
                allowed = f"the policy has no such pool, {_only(pools)}"
                path = (*trigger.path, "metadata", "pool")
                yield manifest.warning(path, value=queue.pool, allowed=allowed)
        case IdleTrigger() as idle:
            yield from _queries(manifest, trigger.path, idle, policies)
            yield from _bounds(manifest, trigger.path, idle, policies)
        case _:
            return


def _queries(
    manifest: Manifest, path: Path, idle: IdleTrigger, policies: tuple[Policy, ...]
) -> Iterator[Finding]:
    if any(policy.safety.trigger_queries for policy in policies):
        return
    names = sorted({name for policy in policies for name in policy.queries})
    for key, name in (("keepAlive", idle.keep_alive), ("wake", idle.wake)):
        if name is not None and name not in names:
            allowed = f"the policy has no such query, {_only(names)}"
            yield manifest.warning((*path, "metadata", key), value=name, allowed=allowed)


def _only(names: Sequence[str]) -> str:
    return f"only: {', '.join(names)}" if names else "and no other either"


def _bounds(
    manifest: Manifest, path: Path, idle: IdleTrigger, policies: tuple[Policy, ...]
) -> Iterator[Finding]:
    for policy in policies:
        low, high = policy.safety.idle_after_min, policy.safety.idle_after_max
        if idle.idle_after is not None and not low <= idle.idle_after <= high:
            allowed = f"the policy keeps it within {format_duration(low)}-{format_duration(high)}"
            yield manifest.warning(
                (*path, "metadata", "idleAfter"),
                value=format_duration(idle.idle_after),
                allowed=allowed,
            )
