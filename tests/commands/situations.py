"""Situations that a cluster may be in when someone asks why."""

from collections.abc import Callable

from scaler.core.model import Kind
from scaler.sim.prometheus import Fault
from scaler.sim.scenario import LLM, VISION
from tests.commands.furnished import Furnished


def busy(cluster: Furnished) -> None:
    """Let the service work."""
    cluster.pass_time(900)


def idle(cluster: Furnished) -> None:
    """Let the service rest for longer than idleAfter."""
    cluster.fall_idle()


def kept_alive(cluster: Furnished) -> None:
    """Let requests run while the GPU rests."""
    cluster.cluster.set_load(LLM, percent=0, requests=3)
    cluster.pass_time(900)


def dry_run(cluster: Furnished) -> None:
    """Let it rest where nothing is to be scaled."""
    cluster.change_trigger(dryRun="true")
    cluster.fall_idle()


def at_zero(cluster: Furnished, *, requests: int = 0) -> None:
    """Take the workers away, as KEDA would."""
    cluster.fall_idle()
    cluster.cluster.objects.modify(
        Kind.DEPLOYMENTS, LLM, lambda document: document["spec"].update(replicas=0)
    )
    cluster.cluster.send_requests(LLM, requests)
    cluster.pass_time(600)


def woken(cluster: Furnished) -> None:
    """Let requests wait for a service at zero."""
    at_zero(cluster, requests=2)


def without_prometheus(cluster: Furnished) -> None:
    """Take Prometheus away."""
    cluster.fall_idle()
    cluster.cluster.stop_prometheus()


def with_warnings(cluster: Furnished) -> None:
    """Let Prometheus warn that rows may be missing."""
    cluster.fall_idle()
    cluster.cluster.prometheus.fault = Fault.WARNINGS


def with_a_gap(cluster: Furnished) -> None:
    """End all scrapes for a while."""
    cluster.cluster.set_load(LLM, percent=0)
    cluster.pass_time(600)
    cluster.cluster.exporters.scraping = False
    cluster.pass_time(200)


def without_pods(cluster: Furnished) -> None:
    """Forbid to read pods."""
    cluster.fall_idle()
    cluster.cluster.api.faults.forbidden.add(Kind.PODS)


def malformed(cluster: Furnished) -> None:
    """Let the trigger's metadata be malformed."""
    cluster.change_trigger(idleAfter="soon")
    cluster.fall_idle()


def nothing_queued(cluster: Furnished) -> None:
    """Know the pool's size, and have no work."""
    cluster.size_pool(0)


def queued(cluster: Furnished) -> None:
    """Queue work for a pool at zero."""
    cluster.size_pool(0)
    cluster.submit()
    cluster.pass_time(60)


def growing(cluster: Furnished) -> None:
    """Queue work for a pool that was asked for two nodes."""
    cluster.size_pool(2)
    cluster.submit()
    cluster.pass_time(60)


def beyond_quota(cluster: Furnished) -> None:
    """Queue more than quota allows."""
    cluster.size_pool(0)
    for name in ("a", "b", "c"):
        cluster.submit(name)
    cluster.pass_time(60)


def size_unknown(cluster: Furnished) -> None:
    """Queue work, and leave the pool's size unknown."""
    cluster.submit()
    cluster.pass_time(60)


def queued_without_prometheus(cluster: Furnished) -> None:
    """Queue work, and take Prometheus away."""
    queued(cluster)
    cluster.cluster.stop_prometheus()


def queued_without(kind: Kind) -> Callable[[Furnished], None]:
    """Queue work, and forbid to read a kind."""

    def prepare(cluster: Furnished) -> None:
        queued(cluster)
        cluster.cluster.api.faults.forbidden.add(kind)

    prepare.__name__ = f"queued_without_{kind}"
    return prepare


def not_installed(kind: Kind) -> Callable[[Furnished], None]:
    """Queue work where a kind is not served."""

    def prepare(cluster: Furnished) -> None:
        queued(cluster)
        cluster.serve_only(kind)

    prepare.__name__ = f"{kind}_not_installed"
    return prepare


def cohorts_not_installed(cluster: Furnished) -> None:
    """Queue work for a ClusterQueue that names a cohort where there are no Cohorts."""
    queued(cluster)
    cluster.serve_only(Kind.COHORTS)
    cluster.cluster.objects.modify(
        Kind.CLUSTER_QUEUES, ("", VISION), lambda document: document["spec"].update(cohort="all")
    )


def with_a_heavy_query(cluster: Furnished) -> None:
    """Let one query fail that is too heavy, at the instant where the clock stands."""
    cluster.fall_idle()
    cluster.run("explain", "/".join(LLM))
    heavy = max((asked.parameters["query"] for asked in cluster.cluster.prometheus.asked), key=len)
    error = b'{"status":"error","errorType":"execution","error":"too many samples"}'
    cluster.cluster.prometheus.overrides[heavy] = error
