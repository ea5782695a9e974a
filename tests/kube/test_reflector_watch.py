"""The reflector over real sockets: watches and their ways to end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from scaler.kube.api import TimeOuts
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.watching import goes_back
from tests.kube.apiserver import Hang, Refuse, Say
from tests.kube.bench import Bench, fill
from tests.kube.documents import line, workload
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


def test_versions_that_go_back_mean_a_new_list(bench: Bench) -> None:
    """A cluster restored from a backup knows nothing of what was seen since the backup."""
    fill(bench.server, 2)
    bench.sync()
    bench.server.remove("job-0001")
    older = BOOKMARK | {"metadata": {"resourceVersion": "1"}}
    bench.server.fail("watch", Say(body=line("BOOKMARK", older)))
    bench.turn()
    assert "go back" in (bench.sink.now().problem or "")
    bench.turn()
    assert bench.sink.names == {"job-0000"}
    assert bench.sink.now().problem is None


@pytest.mark.parametrize(
    ("version", "known", "back"),
    [
        ("9", "10", True),
        ("10", "10", False),
        ("11", "10", False),
        ("", "10", False),
        ("a", "b", False),
    ],
)
def test_versions_are_compared_as_numbers(version: str, known: str, *, back: bool) -> None:
    """Where they are none nothing is concluded."""
    assert goes_back(version, known=known) == back


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
    """An ERROR event with code 410 is the same as HTTP 410; the list's version is watched."""
    fill(bench.server, 2)
    bench.sync()
    bench.server.remove("job-0001")
    bench.server.fail("watch", Say(body=line("ERROR", EXPIRED)), Refuse(status=503))
    bench.turn()
    bench.turn()
    assert bench.sink.names == {"job-0000"}
    bench.turn()
    assert bench.server.asked[-1].query["resourceVersion"] == str(bench.server.shelf.version)


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
