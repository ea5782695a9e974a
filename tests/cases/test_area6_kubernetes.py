"""Area 6 over real sockets: what the Kubernetes API may do, and what KEDA gets then."""

import json
from collections.abc import Callable

import pytest

from scaler.core.model import Kind
from scaler.sim.apiserver import ApiServer
from tests.cases import written
from tests.cases.client import HOLD, Client, until, value
from tests.cases.service import Serve
from tests.cases.world import World

GPUS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "gpus"}
WORKLOADS = {"signal": "queue", "clusterQueue": "gpu-cq", "unit": "workloads"}
KUEUE = [
    Kind.WORKLOADS,
    Kind.LOCAL_QUEUES,
    Kind.CLUSTER_QUEUES,
    Kind.COHORTS,
    Kind.RESOURCE_FLAVORS,
    Kind.ADMISSION_CHECKS,
]


def add_pending(world: World, number: int) -> None:
    """Add the queue, a ScaledObject that counts GPUs, and so many pending Workloads of one GPU."""
    world.add_queue(quota=10_000)
    world.add(Kind.NODES, written.node("n1"))
    world.add_scaled("gpus", metadata=GPUS, replicas=1)
    world.add(Kind.WORKLOADS, *(written.workload(f"w{index}") for index in range(number)))


def answers(service: Client, while_: Callable[[], bool]) -> set[str]:
    """Poll while a condition holds; give the different answers."""
    seen: set[str] = set()

    def poll() -> bool:
        seen.add(str(service.poll("gpus", GPUS)))
        return not while_()

    until(poll)
    return seen


def requests(api: ApiServer, *words: str) -> list[str]:
    """Give the requests for Workloads whose line has all the words, in their order."""
    asked = [line for line in list(api.asked) if "/workloads?" in line]
    return [line for line in asked if all(word in line for word in words)]


def test_a01_an_expired_page_is_read_again_and_nothing_partial_is_published(
    world: World, serve: Serve
) -> None:
    """A01: 700 Workloads in two pages, the second one 410 at first."""
    add_pending(world, 700)
    world.api.faults.expired[Kind.WORKLOADS] = 1
    service = serve()
    seen = answers(service, lambda: service.poll("gpus", GPUS) != value(700))
    assert seen <= {str(HOLD), "UNAVAILABLE None ()", str(value(700))}
    assert len(requests(world.api, "continue=")) == 2


def test_a01_pages_that_always_expire_hold(world: World, serve: Serve) -> None:
    """A01, variant: never 500; lists are tried again, and more and more seldom."""
    add_pending(world, 700)
    world.api.faults.expired[Kind.WORKLOADS] = 1_000_000
    service = serve()
    service.until("gpus", GPUS, HOLD)
    seen = answers(service, lambda: len(requests(world.api, "continue=")) < 5)
    assert seen == {str(HOLD)}
    assert "workloads: 410" in service.ready()[1]
    world.api.faults.expired[Kind.WORKLOADS] = 0
    service.until("gpus", GPUS, value(700))


def test_a02_a_bookmark_moves_the_watch_on_and_changes_nothing(world: World, serve: Serve) -> None:
    """A02: a BOOKMARK has no spec; the next watch starts at its version."""
    add_pending(world, 3)
    service = serve(watch_read_timeout=1.0)
    service.until("gpus", GPUS, value(3))
    first = requests(world.api, "watch=true")[-1]
    bookmark = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"resourceVersion": "900"},
    }
    line = json.dumps({"type": "BOOKMARK", "object": bookmark}).encode() + b"\n"
    world.api.faults.hollow.add(Kind.WORKLOADS)
    world.api.faults.said[Kind.WORKLOADS] = line
    world.objects.forget_history()
    until(lambda: bool(requests(world.api, "watch=true", "resourceVersion=900")))
    assert "resourceVersion=900" not in first
    assert service.poll("gpus", GPUS) == value(3)
    assert service.metric("undecodable_objects", kind="workloads") in (None, 0.0)


def test_a02_a_cut_line_is_skipped(world: World, serve: Serve) -> None:
    """A02: half a line of JSON costs a new watch, and no number."""
    add_pending(world, 3)
    world.api.faults.said[Kind.WORKLOADS] = b'{"type":"MODIFIED","object":{"metad\n'
    service = serve()
    service.until("gpus", GPUS, value(3))
    until(lambda: len(requests(world.api, "watch=true")) > 1)
    world.add(Kind.WORKLOADS, written.workload("late"))
    service.until("gpus", GPUS, value(4))


def test_a03_a_silent_watch_is_left_and_the_list_read_again(world: World, serve: Serve) -> None:
    """A03: no FIN, no event; after the read time-out the new number is there."""
    add_pending(world, 3)
    service = serve(watch_read_timeout=0.5)
    service.until("gpus", GPUS, value(3))
    world.api.faults.silent = True
    world.add(Kind.WORKLOADS, written.workload("unseen"))
    service.until("gpus", GPUS, value(4))


def test_a03_silence_and_failing_lists_hold_after_max_watch_age(world: World, serve: Serve) -> None:
    """A03: the last state answers for five minutes of its last sign of life, then HOLD."""
    add_pending(world, 3)
    service = serve(watch_read_timeout=0.5)
    service.until("gpus", GPUS, value(3))
    world.api.faults.silent = True
    world.api.faults.forbidden.add(Kind.WORKLOADS)
    until(lambda: service.metric("source_up", source="workloads") == 0.0)
    world.at(290)
    assert service.poll("gpus", GPUS) == value(3)
    world.at(310)
    service.until("gpus", GPUS, HOLD)
    assert service.decision("gpus")["reason"] == "SourceStale"


def test_a04_a_rotated_token_is_read_again(world: World, serve: Serve) -> None:
    """A04: the file changed, the old token is refused, and no poll notices."""
    add_pending(world, 3)
    token = world.folder / "api-token"
    token.write_text("old")
    world.api.token = "old"
    path = world.folder / "kubeconfig-with-file"
    config = json.loads(world.api.write_kubeconfig(path).read_text())
    config["users"][0]["user"] = {"tokenFile": str(token)}
    path.write_text(json.dumps(config))
    service = serve(kubeconfig=str(path), watch_read_timeout=0.5)
    service.until("gpus", GPUS, value(3))
    held = service.metric("hold_answers_total", reason="NotSynced")
    token.write_text("new")
    world.api.token = "new"
    world.api.faults.silent = True
    before = len(requests(world.api, "limit="))
    seen = answers(service, lambda: len(requests(world.api, "limit=")) < before + 3)
    assert seen == {str(value(3))}
    assert service.metric("source_errors_total", kind="workloads") in (None, 0.0)
    assert service.metric("hold_answers_total", reason="NotSynced") == held
    world.api.faults.silent = False
    world.add(Kind.WORKLOADS, written.workload("late"))
    service.until("gpus", GPUS, value(4))


def test_a05_what_went_during_a_reconnect_is_gone(world: World, serve: Serve) -> None:
    """A05: its DELETED event is never told, the list is."""
    add_pending(world, 3)
    service = serve()
    service.until("gpus", GPUS, value(3))
    world.api.faults.down = True
    until(lambda: service.metric("source_up", source="workloads") == 0.0)
    world.objects.delete(Kind.WORKLOADS, ("ml", "w0"))
    world.objects.forget_history()
    world.api.faults.down = False
    service.until("gpus", GPUS, value(2))


def test_a06_kueue_that_is_installed_later_is_found_without_a_restart(
    world: World, serve: Serve
) -> None:
    """A06: 404 on Kueue's groups is HOLD and a detail of /readyz; nothing crashes."""
    add_pending(world, 3)
    hidden = {str(kind): world.objects.resources.pop(kind) for kind in KUEUE}
    service = serve()
    service.until("gpus", GPUS, HOLD)
    world.at(300)
    assert service.poll("gpus", GPUS) == HOLD
    ready, details = service.ready()
    assert ready
    assert "workloads.kueue.x-k8s.io is not served" in details
    world.objects.resources |= hidden
    service.until("gpus", GPUS, value(3))
    until(lambda: "not served" not in service.ready()[1], seen=service.ready)


def test_a07_empty_watches_are_not_asked_for_in_a_loop(world: World, serve: Serve) -> None:
    """A07: after three that brought nothing the list is read, and so on; it stays up to date."""
    add_pending(world, 3)
    world.api.faults.hollow.add(Kind.WORKLOADS)
    service = serve()
    service.until("gpus", GPUS, value(3))
    until(lambda: len(requests(world.api, "limit=")) > 3)
    watched = ["watch=true" in line for line in requests(world.api)]
    third = [index for index, watch in enumerate(watched) if not watch][:3]
    assert third == [0, 4, 8]
    world.add(Kind.WORKLOADS, written.workload("late"))
    service.until("gpus", GPUS, value(4))


def test_a08_a_denied_list_holds_stays_ready_and_recovers(world: World, serve: Serve) -> None:
    """A08: the missing rule is in /readyz and in a metric; KEDA gets HOLD all the while."""
    add_pending(world, 3)
    world.api.faults.forbidden.add(Kind.WORKLOADS)
    service = serve()
    service.until("gpus", GPUS, HOLD)
    world.at(120)
    assert service.poll("gpus", GPUS) == HOLD
    ready, details = service.ready()
    assert ready
    assert "403 on list workloads.kueue.x-k8s.io in all namespaces" in details
    assert service.metric("source_up", source="workloads") == 0.0
    assert service.metric("source_up", source="pods") == 1.0
    world.api.faults.forbidden.clear()
    service.until("gpus", GPUS, value(3))
    assert "403" not in service.ready()[1]


def test_c03_without_leave_to_read_pods_only_what_needs_no_pods_answers(
    world: World, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    """C03: the log names verb, resource and namespace once, however many polls there are."""
    add_pending(world, 3)
    pool = world.add_pool(nodes=0)
    pending = WORKLOADS | {"scope": "pending"}
    world.add_scaled("workloads", metadata=WORKLOADS, replicas=1)
    world.add_scaled("pending", metadata=pending, replicas=1)
    idle = world.add_running("a", percent=0.0)
    world.resize("pool", 1)
    world.api.faults.forbidden.add(Kind.PODS)
    service = serve()
    service.until("workloads", WORKLOADS, value(4))
    held = {"gpus": GPUS, "pool": pool, "pending": pending, "a": idle}
    before = len([line for line in list(world.api.asked) if "/pods?" in line])
    until(lambda: len([ln for ln in list(world.api.asked) if "/pods?" in ln]) > before + 3)
    for name, metadata in held.items():
        service.until(name, metadata, HOLD)
        service.explained(name, "NotSynced", "pods")
    told = [line for line in capfd.readouterr().err.splitlines() if "not allowed to read" in line]
    assert len(told) == 1
    assert all(word in told[0] for word in ("'list'", "'pods'", "namespace='all'", "403"))
