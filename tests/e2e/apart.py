"""An installation apart from the main one: other metric names, other labels, other ways."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.e2e.front import LOOPBACK
from tests.e2e.gpus import Gpus
from tests.e2e.passage import Passage
from tests.e2e.policies import policy, pool
from tests.e2e.service import Installation
from tests.e2e.ward import IDLE_AFTER, pool_of
from tests.e2e.world import World

PROFILE = "dcgm-4.9"
VERSION = "4.9"
SAMPLE_AGE = 10.0
"""Seconds; a machine that lags must not hide what a fault does."""
PATIENCE = 5.0
"""Seconds for an answer of Prometheus, likewise."""
PATIENTS = "patients-"
"""Begins the name of each of their namespaces."""


def policy_of(prometheus: str, installation: str, **safety: object) -> str:
    """Write the policy; the patients fall quiet together where the brake must hold."""
    text = policy(
        prometheus,
        pools=[pool(pool_of(installation))],
        profile=PROFILE,
        defaults={"idleAfter": f"{IDLE_AFTER:.0f}s"},
        safety={
            "minCoveragePercent": 50,
            "maxSampleAge": f"{SAMPLE_AGE:.0f}s",
            "massIdle": {"workloads": 2, "percent": 10, "for": "1h"},
            **safety,
        },
    )
    written = yaml.safe_load(text)
    written["prometheus"]["timeout"] = f"{PATIENCE:.0f}s"
    return yaml.safe_dump(written, sort_keys=False)


def exporter_of(world: World, namespace: str) -> Gpus:
    """Start the exporter of the patients' GPUs: all are at work but those of the dry run.

    It speaks of other installations' patients too: every installation decides on every
    ScaledObject, and one that has no samples of them would write Events of its own about them.
    """
    gpus = Gpus(world.api, lambda name: name.startswith(PATIENTS), fleet=world.gpus.fleet)
    gpus.version = VERSION
    gpus.start()
    gpus.gateway(namespace)
    gpus.busy(namespace)
    gpus.quiet(namespace, "dry")
    return gpus


def lead(scaler: Installation, passage: Passage) -> None:
    """Let the replicas find the API server at the passage."""
    direct = scaler.kubeconfig_for

    def led(user: str) -> Path:
        path = direct(user)
        path.write_text(by_passage(path.read_text(), passage.port))
        return path

    scaler.kubeconfig_for = led


def by_passage(kubeconfig: str, port: int) -> str:
    """Give a kubeconfig that leads to a port of loopback, by the protocol that it had."""
    config = json.loads(kubeconfig)
    cluster = config["clusters"][0]["cluster"]
    cluster["server"] = f"{urlsplit(cluster['server']).scheme}://{LOOPBACK}:{port}"
    return json.dumps(config)
