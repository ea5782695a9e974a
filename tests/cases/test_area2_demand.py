"""Area 2, second half: copies, versions, queues' order, checks and shapes."""

import pytest

from scaler.core.model import Kind
from scaler.core.reasons import Reason
from tests.cases.cluster import (
    admission_check,
    cluster_queue,
    flavor,
    hpa,
    local_queue,
    node,
    nodes,
    owned,
    quota,
    scaled_object,
    target,
)
from tests.cases.frame import GPUS, NODES, Case, Run, policy, pool
from tests.cases.objects import (
    GPU,
    Object,
    admission,
    admitted,
    assignment,
    condition,
    container,
    every,
    granted,
    owner,
    pod,
    pod_set,
    pods,
    reserved,
    with_,
    workload,
)

WAITS = [condition("QuotaReserved", "False", "WaitingForQuota", message="insufficient quota")]


@pytest.mark.parametrize(("controlled", "want"), [(True, 8), (False, 16)])
def test_q13_queue_label_copied(explain: Run, want: int, *, controlled: bool) -> None:
    """A RayCluster that belongs to a RayJob with a Workload counts with it, alone it counts."""
    job = owner("RayJob", "job", api="ray.io/v1")
    cluster = owner("RayCluster", "rc", api="ray.io/v1")
    objects = [
        owned("RayCluster", "rc", api="ray.io/v1", owners=[job] if controlled else []),
        workload("of-job", gpus=8, owners=[job]),
        workload("of-cluster", gpus=8, owners=[cluster]),
    ]
    found = explain(Case(trigger=GPUS, objects=objects))
    assert found.says(active=True, value=want).queue.demand() == want
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=want // 8)


def test_q14_stateful_set_at_zero(explain: Run) -> None:
    """A Workload that keeps quota for a StatefulSet at zero uses nothing and is not busy."""
    out = condition("Evicted", "True", "PodsReadyTimeout", at=-600)
    objects = [*nodes(1), admitted("statefulset-sts-1", pods=2, conditions=[out])]
    sts = target("StatefulSet", "sts", replicas=0, queue="lq")
    explain(Case(trigger=GPUS, objects=objects)).says(active=False, value=0)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1)
    idle = scaled_object({"signal": "idle"}, kind="StatefulSet", target="sts")
    case = Case(scaled_object=idle, objects=[*objects, sts])
    explain(case).says(active=False, value=0, reason=Reason.AT_ZERO)


def _older(built: Object) -> Object:
    """Give an object as v1beta1 has it."""
    older = built | {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    if built["kind"] == "ClusterQueue":
        renamed = with_(older, spec={"cohort": "all"}, status={"pendingWorkloadsStatus": {}})
        spec = renamed["spec"]
        assert isinstance(spec, dict)
        del spec["cohortName"]
        return renamed
    if built["kind"] == "LocalQueue":
        return with_(older, status={"flavorUsage": []})
    if built["kind"] == "Workload":
        return with_(older, spec={"priorityClassName": "high", "priority": 7})
    return older


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_q15_both_versions(explain: Run, version: str) -> None:
    """The same objects give the same numbers, whichever version the API server offers."""
    queues = [
        cluster_queue(flavors=[quota(nominal=8)], spec={"cohortName": "all"}),
        cluster_queue("lender", flavors=[quota(nominal=4)], spec={"cohortName": "all"}),
        with_(local_queue(), status={"flavorsUsage": []}),
        flavor(),
    ]
    reference = {"priorityClassRef": {"group": "x", "kind": "y", "name": "high"}, "priority": 7}
    waiting = with_(workload("b", gpus=4), spec=reference)
    objects: list[Object] = every(nodes(1), admitted("a", gpus=8), pods("a", 1, gpus=8), waiting)
    if version == "v1beta1":
        queues = [_older(one) for one in queues]
        objects = [_older(one) if one["kind"] == "Workload" else one for one in objects]
    found = explain(Case(trigger=GPUS, queues=queues, objects=objects))
    told = found.says(active=True, value=12, reason=Reason.DEMAND)
    assert (told.queue.demand(), told.queue.skipped_objects) == (4, 0)


def test_q15_list_fails_in_conversion(explain: Run) -> None:
    """Workloads that can't be listed are HOLD, not none."""
    case = Case(trigger=NODES, objects=nodes(1), unread=frozenset({Kind.WORKLOADS}))
    found = explain(case).holds(Reason.NOT_SYNCED)
    assert "workloads" in found.evidence.detail


@pytest.mark.parametrize(
    ("strategy", "name", "want"),
    [
        ("StrictFIFO", "b200", 0),
        ("StrictFIFO", "b300", 2),
        ("BestEffortFIFO", "b200", 3),
        ("BestEffortFIFO", "b300", 2),
    ],
)
def test_q16_head_of_the_line(explain: Run, strategy: str, name: str, want: int) -> None:
    """With StrictFIFO nothing behind a head without quota is admitted, so no node would help."""
    names = ("b300", "b200")
    queues = [
        cluster_queue(
            flavors=[quota("b300", 16), quota("b200", 40)], spec={"queueingStrategy": strategy}
        ),
        local_queue(),
        *map(flavor, names),
    ]

    def job(number: int, gpus: int, flavor_name: str) -> Object:
        spec = {"containers": [container({GPU: gpus})], "nodeSelector": {"pool": flavor_name}}
        created = -600 + number
        return workload(
            f"w{number}", pod_sets=[pod_set(spec=spec)], conditions=WAITS, created=created
        )

    full = workload(
        "full",
        pods=2,
        gpus=8,
        conditions=granted(),
        status=admission(assignment(count=2, gpus=16, flavor="b300")),
    )
    sizes = ((8, "b300"), (8, "b200"), (8, "b200"), (2, "b200"))
    waiting = [job(number, *size) for number, size in enumerate(sizes)]
    there = [node("n1", pool="b300"), node("n2", pool="b300")]
    running = [pod(f"full-{n}", workload="full", gpus=8, node=f"n{n}") for n in (1, 2)]
    case = Case(
        trigger=NODES | {"pool": name},
        queues=queues,
        objects=every(there, full, running, waiting),
        policy=policy(pools={**pool("b300"), **pool("b200")}),
    )
    found = explain(case).says(active=want > 0, value=want)
    assert found.queue.demand() == (18 if strategy == "BestEffortFIFO" else 0)


def test_q17_claim_made_from_an_extended_resource(explain: Run) -> None:
    """A request of 1 is 1, with the scheduler's claim for it in the pod's status."""
    claim = {"extendedResourceClaimStatus": {"resourceClaimName": "a-0-extended-resources-x"}}
    running = with_(pods("a", 1)[0], status=claim)
    used = every(nodes(1), admitted("a"), running)
    explain(Case(trigger=GPUS, objects=used)).says(active=True, value=1)
    explain(Case(trigger=GPUS, objects=[workload("a")])).says(active=True, value=1)


def test_q17_claims_only_are_not_counted_and_seen(explain: Run) -> None:
    """A podset that asks by a ResourceClaimTemplate alone adds 0, and says so."""
    spec = {
        "containers": [{"name": "c", "resources": {"claims": [{"name": "gpus"}]}}],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}],
    }
    job = workload("a", pod_sets=[pod_set(spec=spec)])
    for trigger in (GPUS, NODES):
        found = explain(Case(trigger=trigger, objects=[job])).says(active=False, value=0)
        assert found.queue.not_counted_dra == 1
        assert "DRA" in found.evidence.detail


@pytest.mark.parametrize("running", [False, True])
def test_q18_concurrent_admission(explain: Run, *, running: bool) -> None:
    """A parent and its variants are one Workload: the admitted variant, else the parent."""
    parent = workload(
        "parent", gpus=8, labels={"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    )
    above = [owner("Workload", "parent", api="kueue.x-k8s.io/v1beta2")]
    second = workload("parent-b", gpus=8, owners=above)
    if running:
        first = admitted("parent-a", gpus=8, owners=above)
        objects = every(nodes(1), parent, second, first, pods("parent-a", 1, gpus=8))
    else:
        objects = [parent, workload("parent-a", gpus=8, owners=above), second]
    found = explain(Case(trigger=GPUS, objects=objects)).says(active=True, value=8)
    assert found.queue.demand() == (0 if running else 8)
    counted = explain(Case(trigger=GPUS | {"unit": "workloads"}, objects=objects))
    counted.says(active=True, value=1)
    explain(Case(trigger=NODES, objects=objects)).says(active=True, value=1)


@pytest.mark.parametrize("state", ["Pending", "Retry", "Rejected"])
@pytest.mark.parametrize("size", [0, 3, 10])
def test_q19_provisioning_check(explain: Run, state: str, size: int) -> None:
    """While another system provisions, or can't, nothing grows and nothing falls below S."""
    checks = [{"name": "provision", "state": state, "message": "", "podSetUpdates": []}]
    job = workload(
        "a",
        pods=8,
        conditions=reserved(),
        status=admission(assignment(count=8, gpus=8)) | {"admissionChecks": checks},
    )
    check = admission_check("provision", "kueue.x-k8s.io/provisioning-request")
    objects = [check, job, *nodes(size)]
    found = explain(Case(trigger=NODES, objects=objects)).says(active=size > 0, value=size)
    assert found.queue.workloads("C" if state == "Pending" else "G") == 1
    explain(Case(trigger=GPUS, objects=objects)).says(active=False, value=0)
    sized = Case(scaled_object=scaled_object(NODES), objects=[*objects, hpa(size)])
    explain(sized).says(active=size > 0, value=size)


@pytest.mark.parametrize(("restart_policy", "want"), [("Always", 3), (None, 2)])
def test_q20_native_sidecars(explain: Run, restart_policy: str | None, want: int) -> None:
    """A sidecar runs beside the init containers after it and beside the containers."""
    spec = {
        "initContainers": [
            container({GPU: 1}, name="s", restart_policy=restart_policy),
            container({GPU: 2}, name="i"),
        ],
        "containers": [container({GPU: 1})],
    }
    job = workload("a", pod_sets=[pod_set(spec=spec)])
    explain(Case(trigger=GPUS, objects=[job])).says(active=True, value=want)
