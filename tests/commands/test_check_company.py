"""ScaledObjects are judged together with what stands beside them."""

import json

from scaler.commands.check import all_findings
from scaler.commands.check_files import Finding, Severity, read_files
from tests.commands.test_check_rules import IDLE, POOL, TRIGGER, edited, put

POLICY = """
pools: {a100: {nodeSelector: {pool: a100}, node: {nvidia.com/gpu: 8}, maxNodes: 10}}
queries: {vllm: up}
"""


def stateful_set(labels: str, namespace: str = "team-a") -> str:
    """Write a StatefulSet named chat."""
    return (
        "apiVersion: apps/v1\nkind: StatefulSet\n"
        f"metadata: {{name: chat, namespace: '{namespace}', labels: {labels}}}"
    )


def on_stateful_set(**sizes: int) -> str:
    """Write an idle ScaledObject for StatefulSet chat, with sizes."""
    tree = edited(IDLE, put("spec.scaleTargetRef.kind", "StatefulSet"))
    tree["spec"] |= sizes
    return json.dumps(tree)


def found(*texts: str) -> list[Finding]:
    """Judge texts together."""
    return list(all_findings(read_files((f"f{at}", text) for at, text in enumerate(texts))))


QUEUED = "{kueue.x-k8s.io/queue-name: lq}"


def test_stateful_set_under_kueue() -> None:
    """Under Kueue it needs idleReplicaCount 0 and min = max, in any order of the files."""
    for texts in (
        (on_stateful_set(), stateful_set(QUEUED)),
        (stateful_set(QUEUED, namespace=""), on_stateful_set(minReplicaCount=2, maxReplicaCount=2)),
        (stateful_set(QUEUED), on_stateful_set(idleReplicaCount=0, minReplicaCount=1)),
    ):
        (finding,) = found(*texts)
        assert finding.severity is Severity.ERROR
        assert finding.problem.path == "spec.idleReplicaCount"
    fine = on_stateful_set(idleReplicaCount=0, minReplicaCount=2, maxReplicaCount=2)
    assert found(fine, stateful_set(QUEUED)) == []
    assert found(fine) == []


def test_stateful_set_without_kueue() -> None:
    """Without the label the sizes are free; without the file that can't be known, and is said."""
    assert found(on_stateful_set(), stateful_set("{}")) == []
    (finding,) = found(on_stateful_set(), stateful_set(QUEUED, namespace="team-b"))
    assert finding.severity is Severity.WARNING
    assert "not among the files" in str(finding)


def test_shared_pool() -> None:
    """The second ScaledObject on a pool is warned, with the name of the first."""
    second = edited(POOL, put("metadata.name", "other"))
    (finding,) = found(json.dumps(POOL), json.dumps(second))
    assert finding.severity is Severity.WARNING
    assert finding.subject == "ScaledObject clusters/other"
    assert "ScaledObject clusters/gpu-a100 sizes it too" in str(finding)
    assert found(json.dumps(POOL), json.dumps(POOL)) == []
    other_pool = edited(second, put(f"{TRIGGER}.metadata.pool", "h100"))
    assert found(json.dumps(POOL), json.dumps(other_pool)) == []


def test_pending_may_share() -> None:
    """Only totals size a pool: a second trigger of scope pending is no rival."""
    pending = edited(POOL, put("metadata.name", "placeholders"))
    pending["spec"]["triggers"][0]["metadata"]["scope"] = "pending"
    pools = [one for one in found(json.dumps(POOL), json.dumps(pending)) if "sizes it" in str(one)]
    assert pools == []


def test_pool_of_the_policy() -> None:
    """A pool that the policy given with it lacks is a warning; without a policy nothing is said."""
    assert found(json.dumps(POOL), POLICY) == []
    missing = json.dumps(edited(POOL, put(f"{TRIGGER}.metadata.pool", "h100")))
    (finding,) = found(missing, POLICY)
    assert finding.severity is Severity.WARNING
    assert str(finding) == (
        "f0: ScaledObject clusters/gpu-a100: warning: spec.triggers[0].metadata.pool is 'h100': "
        "the policy has no such pool, only: a100"
    )
    assert found(missing) == []


def test_queries_of_the_policy() -> None:
    """A query that the policy lacks is a warning, unless triggers may bring their own."""
    tree = edited(IDLE, put(f"{TRIGGER}.metadata.keepAlive", "vllm"))
    tree["spec"]["triggers"][0]["metadata"]["wake"] = "sum(up)"
    (finding,) = found(json.dumps(tree), POLICY)
    assert finding.problem.path == "spec.triggers[0].metadata.wake"
    assert found(json.dumps(tree), POLICY + "safety: {triggerQueries: true}") == []


def test_idle_after_beyond_the_bounds() -> None:
    """A window that the policy would bend is a warning."""
    tree = json.dumps(edited(IDLE, put(f"{TRIGGER}.metadata.idleAfter", "1m")))
    (finding,) = found(tree, POLICY)
    assert "the policy keeps it within 5m-24h" in str(finding)
