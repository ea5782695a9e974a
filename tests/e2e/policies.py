"""Policies with thresholds of seconds, as an ops team would write them into the ConfigMap."""

from collections.abc import Iterable, Mapping

import yaml

from tests.e2e.api import Object
from tests.e2e.prometheus import SCRAPE
from tests.kustomized import DEPLOY

POOL_LABEL = "e2e/pool"
"""The node label that tells pools apart."""
GPUS = "nvidia.com/gpu"
NODE: Mapping[str, str | int] = {GPUS: 8, "cpu": 96, "memory": "1000Gi", "pods": 110}
"""What one node offers, in the policy and from the machines."""
IDLE_AFTER = 6.0
"""Seconds; the triggers' own too, since each further window is a set of queries more."""
MAX_SAMPLE_AGE = 8.0
MAX_WATCH_AGE = 90.0
"""A quiet watch shows no sign of life for up to a minute: bookmarks come as often."""
PROVISIONING = 45.0
NOT_READY_GRACE = 6.0
REFRESH = 2.0


def pool(name: str, *, most: int = 30, **more: object) -> tuple[str, Object]:
    """Give a pool of the policy with its name."""
    return name, {
        "nodeSelector": {POOL_LABEL: name},
        "node": dict(NODE),
        "maxNodes": most,
        "provisioningTimeout": f"{PROVISIONING:.0f}s",
        "notReadyGrace": f"{NOT_READY_GRACE:.0f}s",
        **more,
    }


def policy(
    prometheus: str,
    *,
    pools: Iterable[tuple[str, Object]] = (),
    profile: str = "dcgm-4.8",
    defaults: Mapping[str, object] | None = None,
    safety: Mapping[str, object] | None = None,
    **more: object,
) -> str:
    """Write a policy; defaults and safety are laid over the short thresholds."""
    written = {
        "defaults": {
            "idleAfter": f"{IDLE_AFTER:.0f}s",
            "busyFromPercent": 1,
            "graceAfterStart": "0s",
            **(defaults or {}),
        },
        "pools": dict(pools),
        "prometheus": {
            "url": prometheus,
            "profile": profile,
            "timeout": "4s",
            "refresh": f"{REFRESH:.0f}s",
            "scrapeInterval": f"{SCRAPE:.0f}s",
        },
        "safety": {
            "minCoveragePercent": 70,
            "maxSampleAge": f"{MAX_SAMPLE_AGE:.0f}s",
            "maxWatchAge": f"{MAX_WATCH_AGE:.0f}s",
            "idleAfterMin": "5s",
            # Queries for busy samples reach back as far as the brake holds: an hour costs seconds.
            "massIdle": {"workloads": 1000, "percent": 100, "for": "20s"},
            **(safety or {}),
        },
        # To an actuator that sees a part of the WorkerScales others' marks look like orphans.
        "workerScales": {"orphanAfter": "6h"},
        "queries": {
            "vllm-requests": 'sum(vllm:num_requests_running{namespace="$namespace"}'
            ' + vllm:num_requests_waiting{namespace="$namespace"})',
            "gateway-requests": _gateway_requests(),
            **{name: text for name, text in _shipped_queries().items() if name.startswith("ray-")},
        },
        "prices": {"currency": "EUR", "gpuHour": 2.5},
        **more,
    }
    return yaml.safe_dump(written, sort_keys=False)


def _gateway_requests() -> str:
    """Give the shipped query with a window of seconds."""
    return _shipped_queries()["gateway-requests"].replace("2m", "10s").replace("1h", "60s")


def _shipped_queries() -> dict[str, str]:
    text = (DEPLOY / "base" / "policy.yaml").read_text()
    shipped: dict[str, str] = yaml.safe_load(text)["queries"]
    return shipped
