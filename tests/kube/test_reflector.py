"""The reflector over real sockets: discovery, lists, malformed objects; turn by turn."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from scaler.core.model import Kind
from tests.kube.apiserver import Refuse, Say
from tests.kube.bench import Bench, fill
from tests.kube.documents import line, workload
from tests.kube.keeping import KeepingSink
from tests.kube.loopback import running

BOOKMARK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"resourceVersion": "900"},
}
EXPIRED = {"kind": "Status", "code": 410, "message": "too old resource version"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Give a reflector at a running server."""
    with running() as server:
        made = Bench(server, tmp_path)
        yield made
        made.api.close()


# --- lists -------------------------------------------------------------------------------------


def test_a01_a_page_that_expires_once_is_no_loss(bench: Bench) -> None:
    """A01: 700 Workloads; page 2 answers 410 once."""
    fill(bench.server, 700)
    bench.server.fail("page", Refuse(status=410))
    bench.turn()
    assert bench.turn() >= 1.0
    assert (bench.sink.lists, bench.sink.now().synced) == (0, False)
    bench.turn()
    assert len(bench.sink.records) == 700
    assert bench.sink.now().synced
    assert bench.sink.now().problem is None


def test_a01_a_list_whose_second_page_never_comes_is_never_published(bench: Bench) -> None:
    """A01, variant: page 2 always answers 410; the pauses grow and the state says why."""
    fill(bench.server, 700)
    bench.server.always["page"] = Refuse(status=410, message="token expired")
    bench.turn()
    delays = [bench.turn() for _ in range(6)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 20.0]
    assert (bench.sink.records, bench.sink.lists) == ({}, 0)
    assert not bench.sink.now().synced
    assert "410 on list workloads.kueue.x-k8s.io" in str(bench.sink.now().problem)


def test_an_answer_that_is_no_list_is_not_taken_for_an_empty_one(bench: Bench) -> None:
    """A Status or a proxy's page with code 200 leaves what is known."""
    fill(bench.server, 1)
    bench.sync()
    bench.server.fail("watch", Say(body=line("ERROR", EXPIRED)))
    bench.turn()
    bench.server.fail("list", Say(body=b'{"kind":"Status","metadata":{}}'))
    assert bench.turn() > 0.0
    assert bench.sink.names == {"job-0000"}
    bench.server.fail("list", Say(body=b"<html>bad gateway"))
    assert bench.turn() > 0.0
    assert bench.sink.names == {"job-0000"}


def test_a08_c03_a_list_that_is_not_allowed_is_asked_calmly_and_heals(bench: Bench) -> None:
    """A08, C03: 403 on LIST for a while; one log line names verb, resource and namespace."""
    fill(bench.server, 1)
    bench.server.always["list"] = Refuse(status=403, message="workloads is forbidden")
    with capture_logs() as logs:
        bench.turn()
        delays = [bench.turn() for _ in range(5)]
        assert delays == [5.0, 10.0, 20.0, 20.0, 20.0]
        assert bench.sink.now().problem == (
            "403 on list workloads.kueue.x-k8s.io in all namespaces: workloads is forbidden"
        )
        assert not bench.sink.now().synced
        del bench.server.always["list"]
        bench.turn()
    assert bench.sink.now().synced
    assert bench.sink.now().problem is None
    assert bench.sink.now().failures == 5
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == 1
    assert warnings[0]["verb"] == "list"
    assert warnings[0]["resource"] == "workloads.kueue.x-k8s.io"
    assert warnings[0]["namespace"] == "all"


def test_watches_that_were_refused_for_long_are_made_up_for_by_a_list(bench: Bench) -> None:
    """A quiet kind is known to be right as soon as reading is granted, not a bookmark later."""
    fill(bench.server, 1)
    bench.sync()
    bench.server.always["watch"] = Refuse(status=403, message="workloads is forbidden")
    for _ in range(3):
        bench.turn()
    assert bench.sink.now().problem is not None
    del bench.server.always["watch"]
    bench.turn()
    assert bench.sink.now().problem is None
    assert bench.sink.names == {"job-0000"}


def test_retry_after_is_kept(bench: Bench) -> None:
    """A server that names its pause gets it."""
    bench.server.fail("list", Refuse(status=429, message="slow down", retry_after="7"))
    bench.turn()
    assert bench.turn() == 7.0


# --- discovery ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("served", "want"),
    [
        ({"v1beta1"}, "v1beta1"),
        ({"v1beta1", "v1beta2"}, "v1beta2"),
        ({"v1beta2"}, "v1beta2"),
    ],
)
def test_q15_the_newest_served_version_is_read(bench: Bench, served: set[str], want: str) -> None:
    """Q15 a to c: v1beta2, else v1beta1; the same numbers from the same objects."""
    bench.server.served = served
    bench.server.put(workload("job-a", gpus=2))
    bench.sync()
    assert bench.server.asked[-1].path == f"/apis/kueue.x-k8s.io/{want}/workloads"
    assert bench.sink.names == {"job-a"}


def test_q15_a_failing_conversion_webhook_is_unknown_not_empty(bench: Bench) -> None:
    """Q15 d: LIST answers 500."""
    bench.server.put(workload("job-a"))
    bench.server.always["list"] = Refuse(
        status=500, message="conversion webhook for kueue.x-k8s.io failed"
    )
    bench.turn()
    assert bench.turn() == 1.0
    assert bench.sink.lists == 0
    assert "conversion webhook" in str(bench.sink.now().problem)


def test_a06_a_kind_that_is_not_installed_is_looked_for_again(bench: Bench) -> None:
    """A06: the CRDs appear later; no restart."""
    bench.server.served = set()
    with capture_logs() as logs:
        delays = [bench.turn() for _ in range(4)]
    assert delays == [20.0] * 4
    assert not bench.sink.now().installed
    assert not bench.sink.now().synced
    assert bench.sink.now().problem == "workloads.kueue.x-k8s.io is not served: not installed"
    assert len(logs) == 1
    bench.server.served = {"v1beta1"}
    bench.server.put(workload("job-a"))
    bench.sync()
    assert bench.sink.now().installed
    assert bench.sink.names == {"job-a"}


def test_a_version_that_is_removed_while_running_is_discovered_anew(bench: Bench) -> None:
    """404 on a path that was served asks discovery again."""
    bench.server.served = {"v1beta1"}
    bench.server.put(workload("job-a"))
    bench.sync()
    bench.server.served = {"v1beta2"}
    assert bench.turn() > 0.0  # the watch answers 404
    bench.sync()
    assert bench.server.asked[-1].path.endswith("/v1beta2/workloads")


def test_a_cluster_that_hides_discovery_is_still_read(bench: Bench) -> None:
    """403 on discovery: the first version is tried."""
    bench.server.always["discover"] = Refuse(status=403)
    bench.server.put(workload("job-a"))
    bench.sync()
    assert bench.sink.names == {"job-a"}


# --- malformed objects -------------------------------------------------------------------------


def bad(name: str) -> dict[str, object]:
    """Write a Workload whose podsets are no list."""
    return {**workload(name), "spec": {"podSets": "none"}}


def test_a_malformed_object_is_skipped_named_once_and_counted(bench: Bench) -> None:
    """The others still count; a second list logs nothing new."""
    fill(bench.server, 1)
    bench.server.put(bad("broken"))
    with capture_logs() as logs:
        bench.sync()
        bench.server.compact()
        bench.server.put(workload("job-b"))
        bench.server.compact()
        bench.turn()
        bench.turn()
    assert bench.sink.names == {"job-0000", "job-b"}
    assert bench.sink.skipped == 1
    assert bench.sink.now().skipped == 1
    named = [entry["problem"] for entry in logs if entry["event"] == "object skipped"]
    assert len(named) == 1
    assert named[0].startswith("workloads ml/broken: ")
    assert "podSets" in named[0]


def test_an_object_that_turns_malformed_goes_and_comes_back(bench: Bench) -> None:
    """A malformed MODIFIED counts as it would in a list."""
    bench.server.put(workload("job-a"))
    with bench.followed():
        bench.sink.wait(lambda: bench.sink.names == {"job-a"})
        bench.server.wait(lambda: bench.server.count("watch") == 1)
        bench.server.put(bad("job-a"))
        bench.sink.wait(lambda: bench.sink.names == set() and bench.sink.now().skipped == 1)
        bench.server.put(workload("job-a"))
        bench.sink.wait(lambda: bench.sink.names == {"job-a"} and bench.sink.now().skipped == 0)


def test_an_hpa_that_keda_did_not_make_is_not_kept(tmp_path: Path) -> None:
    """It is neither a record nor malformed."""
    ours = {
        "metadata": {
            "name": "keda-hpa-x",
            "namespace": "ml",
            "labels": {"scaledobject.keda.sh/name": "x"},
        }
    }
    other = {"metadata": {"name": "web", "namespace": "ml"}}
    with running(Kind.HPAS) as server:
        server.put(ours)
        server.put(other)
        bench = Bench(server, tmp_path)
        bench.sync()
        assert bench.sink.names == {"keda-hpa-x"}
        assert bench.sink.skipped == 0
        bench.api.close()


# --- the thread --------------------------------------------------------------------------------


class Bursting(KeepingSink):
    """A sink that fails once."""

    def __init__(self) -> None:
        super().__init__()
        self.fuse: Callable[[], None] | None = self._burst

    def _burst(self) -> None:
        self.fuse = None
        raise RuntimeError("sink burst")

    def listed(self, *args: object, **kwargs: object) -> None:
        """Fail, the first time."""
        if self.fuse is not None:
            self.fuse()
        super().listed(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came


def test_an_error_that_nobody_foresaw_is_survived(tmp_path: Path) -> None:
    """The thread lists anew; the log has the traceback."""
    with running() as server:
        server.put(workload("job-a"))
        bench = Bench(server, tmp_path)
        sink = Bursting()
        bench.reflector._sink = sink
        bench.turn()
        with capture_logs() as logs:
            assert bench.turn() == 1.0
        assert next(entry["event"] for entry in logs) == "reflector failed"
        bench.turn()
        assert sink.names == {"job-a"}
        bench.api.close()
