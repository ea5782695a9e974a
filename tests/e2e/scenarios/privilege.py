"""Our accounts have the rights that they need, and no other."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scaler.kube.resources import LEASE_RULE, RESOURCES, Rule, actuator_rules, rules
from tests.e2e import attempts
from tests.e2e.api import Api, Object
from tests.e2e.attempts import ELSEWHERE, Attempt
from tests.e2e.queues import job, pod_spec, ray_cluster
from tests.e2e.rights import (
    READING,
    VERBS,
    Right,
    Served,
    StaleError,
    allowed,
    granted,
    product,
    served,
)
from tests.e2e.waiting import until
from tests.e2e.worker_objects import worker_scale
from tests.e2e.world import Scenario, World

NOWHERE = "nowhere"
"""A LocalQueue that is not there, and the label's value of an actuator that is not there."""
OF_EVERYBODY = {
    Right("authentication.k8s.io", "selfsubjectreviews", "create"),
    Right("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    Right("authorization.k8s.io", "selfsubjectrulesreviews", "create"),
    *(Right("certificates.k8s.io", "clustertrustbundles", verb) for verb in READING),
}
"""What Kubernetes lets every account do: ask about itself, and whom to trust."""
WRITTEN = {
    "serve": {"create events", "patch events"},
    "actuate": {
        *("create events", "patch events"),
        *("create leases", "patch leases"),
        "patch jobs",
        "patch notebooks",
        "patch rayclusters",
        "patch workerscales",
        "patch workerscales/status",
        "patch workloads",
    },
}
"""All that each may change, in words of our own."""
SOON = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One of ours, as itself."""

    name: str
    api: Api
    rules: tuple[Rule, ...]
    """What it claims in every namespace."""
    own: tuple[Rule, ...] = ()
    """And in its own alone."""


def v1(world: World) -> str:
    """Every verb that is not claimed is refused, every one that is claimed is granted."""
    own = world.scaler.namespace
    accounts = (
        Account(name="serve", api=_as(world, world.scaler.user), rules=rules()),
        Account(
            name="actuate",
            api=_as(world, world.actuator.user),
            rules=actuator_rules(),
            own=(LEASE_RULE,),
        ),
    )
    resources = until(lambda: _served(world), "all APIs are there", within=SOON)
    asked = product(resources | _claimed(accounts), (own, ELSEWHERE))
    had = {each.name: _as_claimed(each, asked, own) for each in accounts}
    refused, granted_for_real = _tried(world, *accounts)
    subs = sum("/" in each.resource for each in resources)
    return (
        f"{len(resources) - subs} resources and {subs} subresources x {len(VERBS)} verbs: "
        f"{len(asked)} questions to each account, all as claimed (serve has {had['serve']}, "
        f"actuate {had['actuate']}); {refused} real requests refused, {granted_for_real} granted"
    )


def _as(world: World, user: str) -> Api:
    """Give a client with a token of an account's own; the kubeconfig in use stays as it is."""
    _, _, namespace, name = user.split(":")
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    token = world.api.call("POST", path, body={"spec": {"expirationSeconds": 600}})
    return Api(url=world.api.url, token=token["status"]["token"], authority=world.api.authority)


def _served(world: World) -> set[Served] | None:
    try:
        return served(world.api)
    except StaleError:
        return None


def _claimed(accounts: Iterable[Account]) -> set[Served]:
    """Give what is claimed of kinds that this cluster does not have: they are asked for too."""
    known = {
        Served(rule.group, resource, namespaced=True)
        for account in accounts
        for rule in account.rules
        for resource in rule.resources
    }
    clusters = {each.plural for each in RESOURCES.values() if not each.namespaced}
    return {each for each in known if each.resource not in clusters}


def _as_claimed(account: Account, asked: list[Right], own: str) -> int:
    """Demand that an account has what it claims and nothing else; give how much that is."""
    claimed = granted(account.rules, asked) | granted(account.own, asked, place=own)
    has = allowed(account.api, asked) - OF_EVERYBODY
    assert not has - claimed, f"{account.name} may too: {_told(has - claimed)}"
    assert not claimed - has, f"{account.name} may not: {_told(claimed - has)}"
    written = {f"{each.verb} {each.resource}" for each in has if each.writes}
    assert written == WRITTEN[account.name], f"{account.name} writes {sorted(written)}"
    leases = {each.place for each in has if each.resource == "leases"}
    assert leases <= {own}, f"leases in {leases}"
    return len({(each.group, each.resource, each.verb) for each in has})


def _told(found: Iterable[Right]) -> str:
    return ", ".join(
        f"{each.verb} {each.resource}.{each.group} in {each.place or 'all'}"
        for each in sorted(found)[:20]
    )


def _tried(world: World, serve: Account, actuate: Account) -> tuple[int, int]:
    """Send real requests as both; give how many were refused and how many were not."""
    place, own = world.namespace("v1"), world.scaler.namespace
    event = _set_up(world, place)
    try:
        workload = until(
            lambda: world.api.list("Workload", place), "the job's Workload", within=SOON
        )[0]["metadata"]["name"]
        lease = until(lambda: world.api.list("Lease", own), "the Lease", within=SOON)[0]
        nobody = list(attempts.of_nobody(place, own))
        one = list(
            attempts.of_the_actuator(place, own, workload=workload, lease=lease["metadata"]["name"])
        )
        both = [*attempts.of_both(place, event), *_lists(world)]
        count: Counter[bool] = Counter()
        for account, no, yes in ((serve, [*nobody, *one], both), (actuate, nobody, [*one, *both])):
            _demand(account, no, refused=True)
            _demand(account, yes, refused=False)
            count += Counter({True: len(no), False: len(yes)})
        return count[True], count[False]
    finally:
        for kind, name in (("RayCluster", "cluster"), ("Job", "job"), ("WorkerScale", "ws")):
            world.api.delete(kind, name, place)
        world.api.delete("Pod", "p", place, grace=0)


def _demand(account: Account, tried: Iterable[Attempt], *, refused: bool) -> None:
    for each in tried:
        status = each.by(account.api)
        what = f"{account.name}: {each.method} {each.path}: HTTP {status}"
        assert (status == 403) is refused, what
        assert refused or status < 300, what


def _lists(world: World) -> list[Attempt]:
    """Give the list of every kind that both read and that is there."""
    found = until(lambda: _served(world), "all APIs are there", within=SOON)
    there = {(each.group, each.resource) for each in found}
    return [
        Attempt(method="GET", path=f"{_root(each.group, each.versions[0])}/{each.plural}?limit=1")
        for each in RESOURCES.values()
        if (each.group, each.plural) in there
    ]


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _set_up(world: World, place: str) -> Object:
    """Create what is tried upon, none of which runs; give the Event."""
    meta = {"name": "kept", "namespace": place}
    pod = pod_spec(gpus=0, more={"schedulingGates": [{"name": "e2e/never"}]})
    cluster = ray_cluster("cluster", namespace=place, queue=NOWHERE, workers=1, gpus=1)
    about = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": place}
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": about,
        "reason": "Tried",
        "type": "Normal",
    }
    world.api.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"key": "value"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"key": "value"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"name": "p"}, "spec": pod},
        event,
    )
    world.api.create(job("job", namespace=place, queue=NOWHERE, pods=1, gpus=1))
    world.api.create(cluster)
    label = {"e2e/actuator": NOWHERE}
    scale = worker_scale("ws", namespace=place, target=cluster, component="gpu", labels=label)
    world.api.create(scale)
    return event


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="V1", title="each verb that we do not claim is refused", play=v1),
)
