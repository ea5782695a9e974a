"""The NetworkPolicies let through what the pods need, and nothing else."""

from pathlib import Path
from urllib.parse import urlsplit

from scaler.core.policy import Policy
from scaler.policyfile import parse_policy
from tests.kustomized import DEPLOY, Document, named, rendered
from tests.test_deploy import NAME, deployments, each_installation, port, shipped


def policy_of(folder: Path, deployment: Document) -> Document:
    """Give the spec of the NetworkPolicy of a Deployment."""
    found = named(rendered(folder), "NetworkPolicy", deployment["metadata"]["name"])
    spec: Document = found["spec"]
    return spec


def ports(rules: list[Document]) -> set[object]:
    """Give the ports of some rules; each rule names some, or it would open them all."""
    assert all(rule["ports"] for rule in rules)
    return {entry["port"] for rule in rules for entry in rule["ports"]}


@each_installation
def test_every_pod_has_a_policy_of_both_directions(folder: Path) -> None:
    """Without one for a direction everything would be allowed there."""
    for deployment in deployments(folder):
        policy = policy_of(folder, deployment)
        assert policy["podSelector"] == deployment["spec"]["selector"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]


def test_keda_alone_reaches_grpc() -> None:
    """From its namespace; the status port is for all pods of the cluster."""
    by_port = {
        entry["port"]: rule["from"]
        for rule in policy_of(DEPLOY, shipped("Deployment"))["ingress"]
        for entry in rule["ports"]
    }
    keda = {"matchLabels": {"kubernetes.io/metadata.name": "keda"}}
    assert by_port == {
        "grpc": [{"namespaceSelector": keda}],
        "http": [{"namespaceSelector": {}}],
    }


@each_installation
def test_only_ports_that_are_served_are_open(folder: Path) -> None:
    """By name, so that they follow the container's numbers."""
    for deployment in deployments(folder):
        for name in ports(policy_of(folder, deployment)["ingress"]):
            assert port(str(name), deployment) > 0


@each_installation
def test_the_prometheus_of_the_policy_can_be_reached(folder: Path) -> None:
    """With DNS and the API server."""
    text = named(rendered(folder), "ConfigMap", f"{NAME}-policy")["data"]["policy.yaml"]
    policy = parse_policy(text)
    assert isinstance(policy, Policy), policy
    assert policy.prometheus is not None
    prometheus = urlsplit(policy.prometheus.url).port
    for deployment in deployments(folder):
        reached = ports(policy_of(folder, deployment)["egress"])
        assert {53, 443, 6443, prometheus} <= reached
