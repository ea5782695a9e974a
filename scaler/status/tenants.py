"""The gauges of who has GPUs, quota and queues: what dashboards split use and cost by.

There are as many series as GPU pods that run, as quotas of extended resources, and as prices:
the cluster's own sizes bound them.
"""

from collections.abc import Iterator

from prometheus_client.core import Metric

from scaler.core.model import Instant
from scaler.core.policy import Prices
from scaler.core.profile import metric_profile
from scaler.core.tenancy import gpu_pods, quota_lines, waits
from scaler.store import State
from scaler.telemetry import gauge

QUOTA = ("cluster_queue", "cohort", "flavor", "resource")
HOLDER = (
    "namespace",
    "pod",
    "node",
    "workload",
    "owner",
    "cluster_queue",
    "cohort",
    "flavor",
)


def tenants(state: State, now: Instant) -> Iterator[Metric]:
    """Give the families of one State."""
    yield _pods(state)
    yield from _quota(state)
    yield _waits(state, now)
    yield _prices(state.policy.policy.prices)


def _pods(state: State) -> Metric:
    gpus = gauge("pod_gpus", "GPUs (or slices) of a pod that runs, and whose they are.", HOLDER)
    profile = metric_profile(state.policy.policy.prometheus)
    for pod in gpu_pods(state.snapshot, profile):
        gpus.add_metric([str(getattr(pod, label)) for label in HOLDER], pod.devices)
    return gpus


def _quota(state: State) -> Iterator[Metric]:
    families = {
        part: gauge(f"quota_{part}", f"{text} ({unit}).", QUOTA)
        for part, text, unit in (
            ("nominal", "Nominal quota of a ClusterQueue", "extended resources"),
            ("used", "Quota that Workloads were admitted on", "less reclaimed pods"),
            ("borrowed", "Quota used beyond the nominal one", "of the cohort"),
            ("held", "Quota used by workers that are held at zero", "part of used"),
        )
    }
    for line in quota_lines(state.snapshot):
        labels = [str(getattr(line, label)) for label in QUOTA]
        for part, family in families.items():
            family.add_metric(labels, getattr(line, part))
    yield from families.values()


def _waits(state: State, now: Instant) -> Metric:
    longest = gauge(
        "oldest_wait_seconds",
        "How long the Workload that waits the longest does, by standing.",
        ("cluster_queue", "class"),
    )
    for wait in waits(state.snapshot):
        longest.add_metric((wait.cluster_queue, wait.standing), max(0.0, now - wait.since))
    return longest


def _prices(prices: Prices) -> Metric:
    price = gauge(
        "price_per_gpu_hour",
        "Price in the policy, by flavor, else by model, else (without either) of any GPU.",
        ("flavor", "model", "currency"),
    )
    for flavor, each in prices.resource_flavors.items():
        price.add_metric((flavor, "", prices.currency), each)
    for model, each in prices.models.items():
        price.add_metric(("", model, prices.currency), each)
    if prices.gpu_hour is not None:
        price.add_metric(("", "", prices.currency), prices.gpu_hour)
    return price
