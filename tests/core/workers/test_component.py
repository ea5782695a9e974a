from collections.abc import Iterable
from dataclasses import replace

import pytest

from scaler.core.model import Pod, ScaledObject, Target, TargetRef, Workload
from scaler.core.policy import PrometheusSettings
from scaler.core.profile import metric_profile
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import IdleTrigger
from scaler.core.workers.component import Component, Found, Unfound, component_of
from tests.builders import (
    make_owner,
    make_pod,
    make_pod_set,
    make_scaled_object,
    make_shape,
    make_snapshot,
    make_target,
    make_workload,
)

PROFILE = metric_profile(PrometheusSettings())
CPU_ONLY = make_shape(gpus=0, requests={"cpu": 1000})


def find(
    snapshot: Snapshot,
    *,
    workload: str | None = None,
    component: str | None = None,
    scaled_object: ScaledObject | None = None,
) -> Found:
    """Find the component of a trigger in namespace `ml`."""
    return component_of(
        snapshot=snapshot,
        namespace="ml",
        trigger=IdleTrigger(workload=workload, component=component),
        scaled_object=scaled_object,
        profile=PROFILE,
    )


def found(snapshot: Snapshot, **trigger: str) -> Component:
    """Find a component that is there."""
    component = find(snapshot, workload=trigger.get("workload"), component=trigger.get("component"))
    assert isinstance(component, Component), component
    return component


def names(component: Component) -> list[str]:
    """Give the names of its live pods."""
    return [pod.name for pod in component.pods]


# --- by selector -------------------------------------------------------------------------------


def deployed(*pods: Pod, target: Target | None = None) -> Snapshot:
    """Build Deployment `workers` of two with some pods."""
    return make_snapshot(targets=[target or make_target(replicas=2)], pods=pods)


def own(name: str, **labels: str) -> Pod:
    """Build a pod that the Deployment selects."""
    return make_pod(name=name, labels={"app": "workers", **labels})


def test_a_deployment_has_the_live_pods_of_its_selector() -> None:
    """A deployment has the live pods of its selector."""
    snapshot = deployed(
        own("b"),
        own("a"),
        replace(own("gone"), deleting=True),
        replace(own("done"), phase="Succeeded"),
        make_pod(name="stranger", labels={"app": "else"}),
        replace(own("abroad"), namespace="other"),
    )
    component = found(snapshot, workload="Deployment/workers")
    assert names(component) == ["a", "b"]
    assert (component.kind, component.lacking, component.measurable) == ("Deployment", 0, True)


def test_pods_below_spec_replicas_are_lacking() -> None:
    """Pods below spec replicas are lacking."""
    assert found(deployed(own("a")), workload="Deployment/workers").lacking == 1
    assert found(deployed(), workload="Deployment/workers").lacking == 2


def test_a_component_narrows_a_selector_to_its_podset() -> None:
    """A component narrows a selector to its podset."""
    snapshot = deployed(
        replace(own("a"), pod_set="main"), replace(own("b"), pod_set="other"), own("c")
    )
    component = found(snapshot, workload="Deployment/workers", component="main")
    assert names(component) == ["a"]


def test_a_target_without_devices_can_not_be_measured() -> None:
    """A target without devices can not be measured."""
    target = make_target(shape=CPU_ONLY)
    assert not found(deployed(target=target), workload="Deployment/workers").measurable


def test_one_live_pod_with_devices_is_enough_to_measure() -> None:
    """One live pod with devices is enough to measure."""
    target = make_target(shape=CPU_ONLY)
    assert found(deployed(own("a"), target=target), workload="Deployment/workers").measurable


def test_the_workloads_of_a_deployments_pods_are_known_where_kueue_makes_one_a_pod() -> None:
    """The workloads of a deployments pods are known where kueue makes one a pod."""
    pod = replace(own("a"), uid="pod-a", workload="pod-a")
    by_owner = make_workload(
        name="by-owner", owners=(make_owner(uid="pod-b", kind="Pod", name="b"),)
    )
    snapshot = make_snapshot(
        targets=[make_target(replicas=2)],
        pods=[pod, replace(own("b"), uid="pod-b")],
        workloads=[make_workload(name="pod-a"), by_owner, make_workload(name="stranger")],
    )
    component = found(snapshot, workload="Deployment/workers")
    assert [one.name for one in component.workloads] == ["by-owner", "pod-a"]
    assert component.lacking == 0


# --- by Workload -------------------------------------------------------------------------------

RAY_SETS = (
    make_pod_set(name="head", count=1, gpus=1),
    make_pod_set(name="small", count=2, gpus=1),
    make_pod_set(name="large", count=1, gpus=4),
    make_pod_set(name="cpu", count=3, shape=CPU_ONLY),
    make_pod_set(name="submitter", count=1, gpus=1),
)


def ray(kind: str = "RayCluster") -> Workload:
    """Build the Workload of a Ray owner whose head has a GPU too."""
    owner = make_owner(uid="ray", kind=kind, name="r", api_version="ray.io/v1")
    return make_workload(name="wl-r", pod_sets=RAY_SETS, owners=(owner,), admitted=True)


def member(name: str, pod_set: str | None, **labels: str) -> Pod:
    """Build a pod of the Ray Workload."""
    return make_pod(name=name, workload="wl-r", pod_set=pod_set, labels=labels)


def clustered(pods: Iterable[Pod] = (), workload: Workload | None = None) -> Snapshot:
    """Build the Ray Workload with some pods."""
    return make_snapshot(workloads=[workload or ray()], pods=pods)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_rays_workers_are_judged_and_its_head_and_submitter_are_not(kind: str) -> None:
    """Rays workers are judged and its head and submitter are not."""
    pods = [member(one.name, one.name) for one in RAY_SETS]
    component = found(clustered(pods, ray(kind)), workload=f"{kind}/r")
    assert component.name == "large,small"
    assert names(component) == ["large", "small"]
    assert component.lacking == 1


def test_a_head_that_is_no_rays_is_judged() -> None:
    """A head that is no rays is judged."""
    owner = make_owner(uid="js", kind="JobSet", name="r")
    workload = replace(ray(), owners=(owner,))
    assert (
        found(clustered(workload=workload), workload="JobSet/r").name
        == "head,large,small,submitter"
    )


def test_a_named_podset_is_the_component_with_or_without_devices() -> None:
    """A named podset is the component with or without devices."""
    head = found(clustered([member("h", "head")]), workload="RayCluster/r", component="head")
    assert names(head) == ["h"]
    cpu = found(clustered(), workload="RayCluster/r", component="cpu")
    assert (cpu.measurable, cpu.lacking) == (False, 3)


def test_a_podset_that_does_not_exist_is_not_found() -> None:
    """A podset that does not exist is not found."""
    missing = find(clustered(), workload="RayCluster/r", component="worker")
    assert isinstance(missing, Unfound)
    assert "'worker'" in missing.detail


def test_a_workload_is_found_by_its_own_name_too() -> None:
    """A workload is found by its own name too."""
    component = found(clustered(), workload="wl-r")
    assert str(component.subject) == "wl-r"
    assert component.kind == "RayCluster"


def test_pods_without_kueues_label_are_told_by_rays() -> None:
    """Pods without kueues label are told by rays."""
    pods = [
        member("h", None, **{"ray.io/node-type": "head", "ray.io/group": "headgroup"}),
        member("s", None, **{"ray.io/node-type": "worker", "ray.io/group": "Small"}),
    ]
    component = found(clustered(pods), workload="RayCluster/r", component="small")
    assert names(component) == ["s"]


def test_a_pod_that_may_be_of_the_component_is() -> None:
    """A pod that may be of the component is."""
    pods = [member("bare", None), replace(member("cpu", None), requests=())]
    assert names(found(clustered(pods), workload="RayCluster/r", component="small")) == ["bare"]


def test_an_only_podset_has_all_pods_of_its_workload() -> None:
    """An only podset has all pods of its workload."""
    workload = make_workload(name="wl-r", pods=2, admitted=True)
    pods = [member("a", None), replace(member("b", None), requests=())]
    assert names(found(clustered(pods, workload), workload="wl-r")) == ["a", "b"]


def test_partial_admission_lacks_only_what_was_admitted() -> None:
    """Partial admission lacks only what was admitted."""
    sets = (make_pod_set(count=10, min_count=4),)
    whole = make_workload(name="wl-r", pod_sets=sets, admitted=True)
    assert whole.admission is not None
    fewer = replace(
        whole.admission, assignments=(replace(whole.admission.assignments[0], count=4),)
    )
    workload = replace(whole, admission=fewer)
    assert found(clustered([member("a", "main")], workload), workload="wl-r").lacking == 3


def test_pods_that_are_done_are_not_lacking_and_count_once() -> None:
    """Pods that are done are not lacking and count once."""
    workload = make_workload(name="wl-r", pods=4, admitted=True, reclaimable=(("main", 2),))
    done = [replace(member(f"d{n}", "main"), phase="Succeeded") for n in range(2)]
    assert found(clustered([*done, member("a", "main")], workload), workload="wl-r").lacking == 1
    failed = [replace(one, phase="Failed") for one in done]
    assert found(clustered([*failed, member("a", "main")], workload), workload="wl-r").lacking == 1


def test_of_an_owners_workloads_the_admitted_ones_count() -> None:
    """Of an owners workloads the admitted ones count."""
    owner = make_owner(uid="lws", kind="LeaderWorkerSet", name="l")
    groups = [
        make_workload(name=f"g-{n}", owners=(owner,), pods=2, admitted=n < 2) for n in range(3)
    ]
    pods = [make_pod(name=f"p-{n}", workload=f"g-{n % 2}", pod_set="main") for n in range(4)]
    snapshot = make_snapshot(workloads=groups, pods=pods)
    component = found(snapshot, workload="LeaderWorkerSet/l")
    assert (len(component.pods), component.lacking) == (4, 0)


def test_another_namespaces_owner_of_the_same_name_is_a_stranger() -> None:
    """Another namespaces owner of the same name is a stranger."""
    other = replace(ray(), namespace="other")
    assert isinstance(find(clustered(workload=other), workload="RayCluster/r"), Unfound)


# --- whom a trigger speaks of ------------------------------------------------------------------


def test_the_default_is_the_scaled_objects_own_target() -> None:
    """The default is the scaled objects own target."""
    snapshot = deployed(own("a"), own("b"))
    component = find(snapshot, scaled_object=make_scaled_object())
    assert isinstance(component, Component)
    assert str(component.subject) == "Deployment/workers"


@pytest.mark.parametrize(
    ("workload", "target", "named"),
    [
        (None, None, "names no workload"),
        (None, TargetRef(name="h", kind="WorkerScale"), "WorkerScale/h"),
        ("Deployment/gone", None, "Deployment/gone"),
        ("gone", None, "gone"),
        ("Job/gone", None, "Job/gone"),
    ],
)
def test_what_can_not_be_found_is_named(
    workload: str | None, target: TargetRef | None, named: str
) -> None:
    """What can not be found is named."""
    scaled_object = None if target is None else make_scaled_object(target=target)
    missing = find(deployed(), workload=workload, scaled_object=scaled_object)
    assert isinstance(missing, Unfound)
    assert named in missing.detail


def test_a_target_of_another_group_is_found_by_its_workload() -> None:
    """A target of another group is found by its workload, and not by a namesake's selector."""
    target = TargetRef(name="workers", kind="Deployment", api_version="apps.kruise.io/v1beta1")
    snapshot = make_snapshot(targets=[make_target()], pods=[own("w-0")])
    got = find(snapshot, scaled_object=make_scaled_object(target=target))
    assert isinstance(got, Unfound)
    assert "no Workload of Deployment/workers" in got.detail
