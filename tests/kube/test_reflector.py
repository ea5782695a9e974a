"""The reflector over real sockets, against scripted faults; turns are taken one by one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from scaler.core.model import Instant, Kind
from scaler.kube.api import TimeOuts
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.reflector import Reflector, WatchTimes
from scaler.kube.resources import RESOURCES
from scaler.kube.retry import Pace
from tests.kube.apiserver import Hang, LoopbackApi, Refuse, Say
from tests.kube.documents import line, workload
from tests.kube.keeping import KeepingSink
from tests.kube.loopback import running

BOOKMARK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"resourceVersion": "900"},
}
EXPIRED = {"kind": "Status", "code": 410, "message": "too old resource version"}


class Bench:
    """A server, a reflector of ours at it, and what it told."""

    def __init__(self, server: LoopbackApi, folder: Path, *, silence: float = 20.0) -> None:
        self.server = server
        self.sink = KeepingSink()
        self.at: Instant = 1000.0
        self.api = ApiServer(find_credentials(server.kubeconfig(folder)))
        self.reflector = Reflector(
            api=self.api,
            resource=RESOURCES[server.shelf.kind],
            sink=self.sink,
            clock=lambda: self.at,
            pace=Pace(),
            times=WatchTimes(silence=silence),
            jitter=lambda: 0.0,
        )

    def turn(self) -> float:
        """Take one turn."""
        return self.reflector.turn()

    def sync(self) -> None:
        """Discover and list."""
        assert [self.turn(), self.turn()] == [0.0, 0.0]

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Run the reflector in its thread meanwhile."""
        self.reflector.start()
        try:
            yield
        finally:
            self.reflector.stop()
            assert self.reflector.join(timeout=20.0)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Give a reflector at a running server."""
    with running() as server:
        made = Bench(server, tmp_path)
        yield made
        made.api.close()


def fill(server: LoopbackApi, count: int) -> None:
    """Put Workloads on the server."""
    for number in range(count):
        server.put(workload(f"job-{number:04d}"))


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


# --- watches -----------------------------------------------------------------------------------


def test_a02_a_bookmark_and_a_cut_line_change_no_count(bench: Bench) -> None:
    """A02: the next watch starts at the bookmark's version."""
    fill(bench.server, 2)
    bench.sync()
    cut = line("MODIFIED", workload("job-0000"))[:40]
    bench.server.fail("watch", Say(body=line("BOOKMARK", BOOKMARK) + cut), Refuse(status=503))
    bench.turn()
    assert len(bench.sink.records) == 2
    assert bench.sink.now().failures == 1
    bench.turn()
    assert bench.server.asked[-1].query["resourceVersion"] == "900"
    assert bench.server.asked[-1].query["allowWatchBookmarks"] == "true"


def test_what_a_bad_line_said_is_had_again(bench: Bench) -> None:
    """The version of before the bad line is watched from, and a second failure lists anew."""
    fill(bench.server, 1)
    bench.sync()
    version = bench.server.shelf.version
    later = line("BOOKMARK", BOOKMARK)
    bench.server.fail("watch", Say(body=b"{]\n" + later), Say(body=b"{]\n" + later))
    bench.turn()
    bench.turn()
    assert bench.server.asked[-1].query["resourceVersion"] == str(version)
    before = bench.sink.lists
    bench.turn()
    assert bench.sink.lists == before + 1


def test_a03_a_silent_watch_is_noticed_and_the_kind_listed_anew(tmp_path: Path) -> None:
    """A03: one event, then nothing and no FIN; meanwhile the list has changed."""
    with running() as server:
        fill(server, 1)
        bench = Bench(server, tmp_path, silence=0.2)
        event = line("ADDED", workload("job-b"))
        server.fail("watch", Say(body=event, hold=True))
        with bench.followed():
            bench.sink.wait(lambda: bench.sink.names == {"job-0000", "job-b"})
            server.put(workload("job-c"))
            bench.sink.wait(lambda: bench.sink.names == {"job-0000", "job-c"})


def test_a_list_that_hangs_is_given_up(tmp_path: Path) -> None:
    """The read time-out ends it, and the state says so."""
    with running() as server:
        bench = Bench(server, tmp_path)
        bench.reflector.turn()
        server.fail("list", Hang())
        fast = ApiServer(
            find_credentials(server.kubeconfig(tmp_path)), time_outs=TimeOuts(read=0.1)
        )
        bench.reflector._api = fast
        assert bench.turn() == 1.0
        assert "time" in str(bench.sink.now().problem).lower()


def test_a05_what_was_deleted_while_disconnected_goes(bench: Bench) -> None:
    """A05: the watch breaks; one of three is deleted meanwhile."""
    fill(bench.server, 3)
    bench.sync()
    bench.server.fail("watch", Say())
    bench.turn()
    bench.server.remove("job-0001")
    with bench.followed():
        bench.sink.wait(lambda: bench.sink.names == {"job-0000", "job-0002"})


def test_a05_and_so_when_history_is_gone_as_well(bench: Bench) -> None:
    """A05, with the deletion out of reach of any watch: 410 leads to a list."""
    fill(bench.server, 3)
    bench.sync()
    bench.server.remove("job-0001")
    bench.server.compact()
    with capture_logs() as logs:
        bench.turn()
        bench.turn()
    assert bench.sink.names == {"job-0000", "job-0002"}
    assert logs == []  # an aged version is no failure


def test_410_inside_a_stream_lists_anew(bench: Bench) -> None:
    """An ERROR event with a Status of code 410 is the same as HTTP 410."""
    fill(bench.server, 2)
    bench.sync()
    bench.server.remove("job-0001")
    bench.server.fail("watch", Say(body=line("ERROR", EXPIRED)))
    bench.turn()
    bench.turn()
    assert bench.sink.names == {"job-0000"}


def test_a07_watches_that_close_at_once_are_not_asked_hard(bench: Bench) -> None:
    """A07: 200 and empty, every time: at most one request a second, growing, then a list."""
    fill(bench.server, 1)
    bench.sync()
    bench.server.always["watch"] = Say()
    delays = [bench.turn() for _ in range(3)]
    assert delays == [1.0, 2.0, 4.0]
    assert bench.server.count("watch") == 3
    assert bench.turn() == 0.0
    assert bench.sink.lists == 2
    more = [bench.turn() for _ in range(3)]
    assert more == [8.0, 16.0, 20.0]


def test_k02_an_unreachable_api_server_leaves_the_last_state_and_ages(tmp_path: Path) -> None:
    """K02, the API half: refused connections delete nothing and give no sign of life."""
    with running() as server:
        fill(server, 2)
        bench = Bench(server, tmp_path)
        bench.sync()
    bench.at += 360.0
    delays = [bench.turn() for _ in range(5)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert len(bench.sink.records) == 2
    assert bench.sink.now().synced
    assert bench.sink.now().last_alive == 1000.0
    assert "0x" not in str(bench.sink.now().problem)


def test_a_changed_object_is_told_while_the_watch_is_open(bench: Bench) -> None:
    """Added, modified and deleted objects reach the sink as they come."""
    bench.server.put(workload("job-a"))
    with bench.followed():
        bench.sink.wait(lambda: bench.sink.names == {"job-a"})
        bench.server.wait(lambda: bench.server.count("watch") == 1)
        bench.server.put(workload("job-b"))
        bench.sink.wait(lambda: bench.sink.names == {"job-a", "job-b"})
        bench.server.remove("job-a")
        bench.sink.wait(lambda: bench.sink.names == {"job-b"})


def test_stop_ends_a_thread_that_waits_for_a_line(bench: Bench) -> None:
    """Nobody waits for a read time-out."""
    bench.reflector.start()
    bench.server.wait(lambda: bench.server.count("watch") == 1)
    bench.reflector.stop()
    assert bench.reflector.join(timeout=20.0)


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
