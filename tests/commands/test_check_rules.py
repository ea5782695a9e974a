"""A ScaledObject is judged by what KEDA and the HPA would make of it."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scaler.commands.check_files import Finding, Manifest, Severity
from scaler.commands.check_rules import judge, our_triggers, sizes

Edit = Callable[[dict[str, Any]], None]

POOL: Mapping[str, Any] = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {
        "namespace": "clusters",
        "name": "gpu-a100",
        "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"},
    },
    "spec": {
        "scaleTargetRef": {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "MachineDeployment",
            "name": "gpu-a100",
        },
        "initialCooldownPeriod": 600,
        "cooldownPeriod": 900,
        "minReplicaCount": 0,
        "maxReplicaCount": 10,
        "advanced": {
            "horizontalPodAutoscalerConfig": {
                "behavior": {
                    "scaleUp": {"tolerance": "0"},
                    "scaleDown": {"selectPolicy": "Disabled"},
                }
            }
        },
        "triggers": [
            {
                "type": "external-push",
                "metadata": {
                    "scalerAddress": "kueue-gpu-scaler.keda:9090",
                    "signal": "queue",
                    "clusterQueue": "research",
                    "pool": "a100",
                },
            }
        ],
    },
}
IDLE: Mapping[str, Any] = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"namespace": "team-a", "name": "chat"},
    "spec": {
        "scaleTargetRef": {"name": "chat"},
        "initialCooldownPeriod": 600,
        "triggers": [
            {
                "type": "external-push",
                "metricType": "AverageValue",
                "metadata": {"scalerAddress": "kueue-gpu-scaler.keda:9090", "signal": "idle"},
            }
        ],
    },
}


def manifest(tree: Mapping[str, Any]) -> Manifest:
    """Make a manifest of a tree."""
    metadata = tree.get("metadata", {})
    return Manifest(
        file="f.yaml",
        kind=tree["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata.get("name", ""),
        tree=tree,
    )


def edited(tree: Mapping[str, Any], edit: Edit) -> dict[str, Any]:
    """Copy a tree and edit the copy."""
    changed = copy.deepcopy(dict(tree))
    edit(changed)
    return changed


def findings(tree: Mapping[str, Any]) -> list[Finding]:
    """Judge a tree."""
    return list(judge(manifest(tree)))


def found(tree: Mapping[str, Any], severity: Severity) -> list[str]:
    """Give the paths of the findings of one severity."""
    return [finding.problem.path for finding in findings(tree) if finding.severity is severity]


def put(path: str, value: object) -> Edit:
    """Give the edit that sets the value under a path of keys, spec being understood."""

    def edit(tree: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = tree
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        place[last] = value

    return edit


def drop(path: str) -> Edit:
    """Give the edit that removes what stands under a path."""

    def edit(tree: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = tree
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        del place[last]

    return edit


BEHAVIOR = "spec.advanced.horizontalPodAutoscalerConfig.behavior"
TRIGGER = "spec.triggers.0"


@pytest.mark.parametrize("tree", [POOL, IDLE], ids=["pool", "idle"])
def test_clean(tree: Mapping[str, Any]) -> None:
    """What is right gives no finding at all."""
    assert findings(tree) == []


@pytest.mark.parametrize(
    ("tree", "edit", "path"),
    [
        pytest.param(IDLE, put("spec.fallback", {"replicas": 1}), "spec.fallback", id="fallback"),
        pytest.param(IDLE, put("spec.fallback", {}), "spec.fallback", id="empty fallback"),
        pytest.param(
            IDLE,
            put("spec.advanced.scalingModifiers", {"formula": "a+b"}),
            "spec.advanced.scalingModifiers",
            id="formula",
        ),
        pytest.param(
            IDLE, put(f"{TRIGGER}.metricType", "Value"), "spec.triggers[0].metricType", id="Value"
        ),
        pytest.param(
            IDLE,
            put(f"{TRIGGER}.metricType", "Utilization"),
            "spec.triggers[0].metricType",
            id="Utilization",
        ),
        pytest.param(
            IDLE,
            put(f"{TRIGGER}.metadata.idleafter", "5m"),
            "spec.triggers[0].metadata.idleafter",
            id="unknown key",
        ),
        pytest.param(
            POOL,
            put(f"{TRIGGER}.metadata.resourceFromEnv", "GPU"),
            "spec.triggers[0].metadata.resourceFromEnv",
            id="FromEnv",
        ),
        pytest.param(
            POOL,
            drop(f"{TRIGGER}.metadata.pool"),
            "spec.triggers[0].metadata.pool/gpusPerNode",
            id="neither pool nor shape",
        ),
        pytest.param(
            IDLE,
            drop(f"{TRIGGER}.metadata.signal"),
            "spec.triggers[0].metadata.signal",
            id="our address, no signal",
        ),
        pytest.param(
            POOL,
            drop(f"{BEHAVIOR}.scaleDown.selectPolicy"),
            f"{BEHAVIOR}.scaleDown.selectPolicy",
            id="a pool that the HPA may shrink",
        ),
        pytest.param(
            POOL,
            put(f"{BEHAVIOR}.scaleDown.selectPolicy", "Max"),
            f"{BEHAVIOR}.scaleDown.selectPolicy",
            id="a pool that the HPA does shrink",
        ),
        pytest.param(
            IDLE,
            drop(f"{TRIGGER}.metadata.scalerAddress"),
            "spec.triggers[0].metadata.scalerAddress",
            id="no address",
        ),
        pytest.param(IDLE, drop("metadata.name"), "metadata.name", id="no name"),
    ],
)
def test_errors(tree: Mapping[str, Any], edit: Edit, path: str) -> None:
    """Each fault is an error at its path, and says what is allowed."""
    errors = [one for one in findings(edited(tree, edit)) if one.severity is Severity.ERROR]
    assert [one.problem.path for one in errors] == [path]
    assert errors[0].problem.allowed


def test_number_in_metadata() -> None:
    """KEDA's metadata is text: a bare number is an error, and judged as the text it would be."""
    bare = edited(POOL, put(f"{TRIGGER}.metadata.gpusPerNode", 8))
    assert found(bare, Severity.ERROR) == ["spec.triggers[0].metadata.gpusPerNode"]
    wrong = edited(IDLE, put(f"{TRIGGER}.metadata.replicas", 0))
    assert found(wrong, Severity.ERROR) == ["spec.triggers[0].metadata.replicas"] * 2


@pytest.mark.parametrize(
    ("tree", "edit", "path"),
    [
        pytest.param(
            POOL, drop(f"{BEHAVIOR}.scaleUp"), f"{BEHAVIOR}.scaleUp.tolerance", id="no tolerance"
        ),
        pytest.param(
            POOL,
            put(f"{BEHAVIOR}.scaleUp.tolerance", "0.05"),
            f"{BEHAVIOR}.scaleUp.tolerance",
            id="some tolerance",
        ),
        pytest.param(
            POOL,
            put(f"{BEHAVIOR}.scaleUp.tolerance", "none"),
            f"{BEHAVIOR}.scaleUp.tolerance",
            id="a tolerance that is no number",
        ),
        pytest.param(
            IDLE,
            put(f"{TRIGGER}.metadata.replicas", "20"),
            f"{BEHAVIOR}.scaleUp.tolerance",
            id="many replicas to wake",
        ),
        pytest.param(
            POOL, drop("spec.initialCooldownPeriod"), "spec.initialCooldownPeriod", id="no initial"
        ),
        pytest.param(
            IDLE,
            put("spec.initialCooldownPeriod", 0),
            "spec.initialCooldownPeriod",
            id="initial of zero",
        ),
        pytest.param(IDLE, put("spec.cooldownPeriod", 60), "spec.cooldownPeriod", id="short"),
        pytest.param(IDLE, put("metadata.name", "x" * 55), "metadata.name", id="a long name"),
        pytest.param(
            POOL,
            drop("metadata.annotations"),
            'metadata.annotations["autoscaling.keda.sh/paused-scale-in"]',
            id="KEDA itself may take a pool to zero",
        ),
        pytest.param(
            IDLE,
            put("metadata.annotations", POOL["metadata"]["annotations"]),
            'metadata.annotations["autoscaling.keda.sh/paused-scale-in"]',
            id="KEDA can't take idle workers to zero",
        ),
        pytest.param(
            POOL,
            put(f"{TRIGGER}.metadata.gpusPerNode", "8"),
            "spec.triggers[0].metadata.gpusPerNode",
            id="pool and shape",
        ),
        pytest.param(IDLE, put("spec.minReplicas", 1), "spec.minReplicas", id="a key of the HPA"),
        pytest.param(
            IDLE, put("spec.minReplicaCount", 1), "spec.minReplicaCount", id="never at zero"
        ),
        pytest.param(
            edited(IDLE, put("spec.maxReplicaCount", 2)),
            put(f"{TRIGGER}.metadata.replicas", "3"),
            "spec.triggers[0].metadata.replicas",
            id="more than KEDA may wake to",
        ),
    ],
)
def test_warnings(tree: Mapping[str, Any], edit: Edit, path: str) -> None:
    """What may surprise is a warning at its path, and no error."""
    changed = edited(tree, edit)
    assert found(changed, Severity.WARNING) == [path]
    assert found(changed, Severity.ERROR) == []


@pytest.mark.parametrize("tolerance", ["0", 0, "0.0", 0.0, "0m"])
def test_no_tolerance(tolerance: object) -> None:
    """Every way to write zero is zero."""
    assert findings(edited(POOL, put(f"{BEHAVIOR}.scaleUp.tolerance", tolerance))) == []


def test_queue_signal_that_shrinks() -> None:
    """A signal that may fall needs both tolerances, and no Disabled."""

    def gpus(tree: dict[str, Any]) -> None:
        tree["spec"]["triggers"][0]["metadata"]["unit"] = "gpus"
        del tree["spec"]["advanced"]
        del tree["metadata"]["annotations"]

    changed = edited(POOL, gpus)
    assert found(changed, Severity.ERROR) == []
    assert found(changed, Severity.WARNING) == [
        f"{BEHAVIOR}.scaleUp.tolerance",
        f"{BEHAVIOR}.scaleDown.tolerance",
    ]


def test_names_of_54() -> None:
    """54 characters still fit."""
    assert findings(edited(IDLE, put("metadata.name", "x" * 54))) == []


def test_scaled_job() -> None:
    """A ScaledJob can't have our trigger, and nothing else is said of it."""
    job = edited(IDLE, put("kind", "ScaledJob"))
    assert found(job, Severity.ERROR) == ["spec.triggers[0].type"]
    assert len(findings(job)) == 1


@pytest.mark.parametrize(
    "edit",
    [
        put(f"{TRIGGER}.type", "prometheus"),
        put(f"{TRIGGER}.metadata", {"scalerAddress": "other:1", "query": "up"}),
        put(f"{TRIGGER}.metadata", None),
        put("spec.triggers", []),
        put("spec", None),
        put("spec", []),
    ],
)
def test_not_ours(edit: Edit) -> None:
    """Without a trigger of ours, a ScaledObject may do what it likes."""
    changed = edited(edited(IDLE, put("spec.fallback", {"replicas": 1})), edit)
    assert findings(changed) == []


def test_triggers_and_sizes() -> None:
    """Triggers keep their place in the list; KEDA's defaults stand where nothing is said."""
    cpu = {"type": "cpu", "metadata": {"value": "60"}}
    both = edited(POOL, lambda tree: tree["spec"]["triggers"].insert(0, cpu))
    (trigger,) = our_triggers(manifest(both))
    assert trigger.path == ("spec", "triggers", 1)
    assert trigger.sizes_pool
    assert sizes(manifest(IDLE)) == (0, 100, None)
    assert sizes(manifest(edited(POOL, put("spec.idleReplicaCount", 0)))) == (0, 10, 0)
