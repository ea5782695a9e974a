"""The demo's cluster: two teams that share a pool, an inference service, and the policy."""

from collections.abc import Sequence

from scaler.core.model import Kind, Name
from scaler.sim.cluster import Cluster
from scaler.sim.nodes import GPU, NAMESPACE
from scaler.sim.patches import Document

POOL = "a100"
VISION, SPEECH, CHAT = "team-vision", "team-speech", "team-chat"
LLM = (CHAT, "llm")
POOL_SCALER = (NAMESPACE, "a100-pool")
NODE = {"cpu": "188", "memory": "1900Gi", GPU: "8", "pods": "110"}
IDLE_AFTER = 300.0
COOLDOWN = 120.0
GATEWAY = "inference_extension_flow_control_queue_size"

POLICY = """\
defaults: {{idleAfter: 5m, busyFromPercent: 1, graceAfterStart: 0s}}
pools:
  a100:
    nodeSelector: {{pool: a100}}
    node: {{nvidia.com/gpu: 8, cpu: 188, memory: 1900Gi, pods: 110}}
    maxNodes: 10
    provisioningTimeout: 15m
  h100:
    nodeSelector: {{pool: h100}}
    node: {{nvidia.com/gpu: 8, cpu: 188, memory: 1900Gi, pods: 110}}
    maxNodes: 4
    provisioningTimeout: 15m
safety: {{idleAfterMin: 3m}}
prometheus:
  url: {prometheus}
  profile: dcgm-4.8
  scrapeInterval: 30s
  refresh: 600ms
  timeout: 2s
queries:
  vllm-requests: >-
    sum(vllm:num_requests_running{{namespace="$namespace"}}
    + vllm:num_requests_waiting{{namespace="$namespace"}})
  gateway-queue: sum({gateway}{{namespace="$namespace"}})
  ray-tasks: sum(ray_tasks{{namespace="$namespace",State="PENDING_NODE_ASSIGNMENT"}})
"""
"""Durations are the cluster's but for `refresh` and `timeout`, which the service waits itself."""


def policy(cluster: Cluster) -> str:
    """Write the policy file of the demo."""
    return POLICY.format(prometheus=cluster.prometheus.url, gateway=GATEWAY)


def furnish(cluster: Cluster, *, scaler_address: str) -> None:
    """Put pools, queues, the inference service and the two ScaledObjects into the cluster."""
    cluster.add_pool(POOL, capacity=NODE)
    cluster.add_pool("l40s", capacity={"cpu": "60", GPU: "4", "pods": "110"}, nodes=1)
    cluster.add_flavor(POOL, pool=POOL, topology="default")
    cluster.add_team(VISION, flavor=POOL, quota={"cpu": "400", GPU: "32"})
    cluster.add_team(SPEECH, flavor=POOL, quota={"cpu": "100", GPU: "8"})
    cluster.deploy(LLM, replicas=1, requests={"cpu": "8", GPU: "1"}, pool="l40s")
    cluster.set_load(LLM, percent=62, requests=4)
    cluster.send_requests(LLM, 0)
    for document in (_pool_scaler(scaler_address), _idle_scaler(scaler_address)):
        cluster.apply(Kind.SCALED_OBJECTS, document)


def _pool_scaler(address: str) -> Document:
    return pool_scaler(address, POOL_SCALER, pool=POOL, teams=(VISION, SPEECH))


def pool_scaler(address: str, name: Name, *, pool: str, teams: Sequence[str]) -> Document:
    """Grow a MachineSet by what the queues need; KEDA never takes a node away."""
    metadata = {
        "scalerAddress": address,
        "signal": "queue",
        "clusterQueue": ",".join(teams),
        "pool": pool,
    }
    behavior = {"scaleUp": {"tolerance": "0"}, "scaleDown": {"selectPolicy": "Disabled"}}
    return {
        "metadata": {
            "name": name[1],
            "namespace": name[0],
            "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"},
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "machine.openshift.io/v1beta1",
                "kind": "MachineSet",
                "name": pool,
            },
            "minReplicaCount": 0,
            "maxReplicaCount": 10,
            "pollingInterval": 30,
            "cooldownPeriod": 600,
            "initialCooldownPeriod": 600,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
            "triggers": [{"type": "external-push", "metadata": metadata}],
        },
    }


def _idle_scaler(address: str) -> Document:
    """Take the inference service to zero while its GPU is idle, wake it by the gateway's queue."""
    metadata = {
        "scalerAddress": address,
        "signal": "idle",
        "keepAlive": "vllm-requests",
        "wake": "gateway-queue",
    }
    behavior = {"scaleUp": {"tolerance": "0"}, "scaleDown": {"tolerance": "0"}}
    return {
        "metadata": {"name": LLM[1], "namespace": LLM[0]},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": LLM[1]},
            "minReplicaCount": 0,
            "maxReplicaCount": 2,
            "pollingInterval": 30,
            "cooldownPeriod": int(COOLDOWN),
            "initialCooldownPeriod": 300,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
            "triggers": [{"type": "external-push", "metadata": metadata}],
        },
    }
