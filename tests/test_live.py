"""A look at a cluster reads each kind once, and tells what it can't read as the reflectors do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.model import Kind, Name
from scaler.core.policy import Policy
from scaler.kube.api import JSON, ApiError, Stream
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.resources import RESOURCES
from scaler.live import TURNS, Look, UnreadableError, look
from scaler.policyfile import parse_policy
from scaler.sim.scenario import LLM, POOL_SCALER
from tests.commands.furnished import Furnished, furnished
from tests.commands.situations import idle, queued

EXPIRED = ApiError(410, "the continue token expired")


class _Recording:
    """Pass requests on to an API server and note them; fail those that are told to."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.failures: dict[str, list[ApiError]] = {}
        """By plural: what the next lists of it end in."""

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        self.asked.append((path, params))
        planned = self.failures.get(path.rpartition("/")[2], [])
        if planned and "limit" in params:
            raise planned.pop(0)
        return self.api.get(path, params=params, accept=accept)

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        raise AssertionError(f"a watch of {path} for {read_timeout} s: {params} {accept}")

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        raise AssertionError(f"{method} {path} {content_type} {body!r}")

    def lists(self, kind: Kind) -> Sequence[Mapping[str, str]]:
        """Give the parameters of each list of a kind."""
        return [
            params
            for path, params in self.asked
            if path.rpartition("/")[2] == kind and "limit" in params
        ]


def decided(seen: Look, scaled_object: Name) -> tuple[Decision, ...]:
    """Decide each trigger of a ScaledObject on what was seen."""
    return tuple(
        decide(snapshot=seen.snapshot, ref=ref, policy=seen.policy, now=seen.at)
        for ref in seen.refs(scaled_object)
    )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Furnished]:
    """The demo's cluster over real HTTP."""
    with furnished(tmp_path) as one:
        yield one


@contextmanager
def recording(cluster: Furnished) -> Iterator[_Recording]:
    """Reach the cluster's API server."""
    api = ApiServer(find_credentials(str(cluster.kubeconfig)))
    try:
        yield _Recording(api)
    finally:
        api.close()


def policy_of(cluster: Furnished) -> Policy:
    """Parse the cluster's policy."""
    parsed = parse_policy(cluster.policy.read_text(encoding="utf-8"))
    assert isinstance(parsed, Policy)
    return parsed


def test_every_kind_is_listed_once_and_nothing_is_watched_or_written(cluster: Furnished) -> None:
    """A look leaves no trace."""
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert {kind: len(api.lists(kind)) for kind in RESOURCES} == dict.fromkeys(RESOURCES, 1)
    assert all(state.synced for state in seen.snapshot.sources.values())
    assert set(seen.snapshot.sources) == set(RESOURCES)


def test_the_look_is_of_one_instant_in_whole_milliseconds(cluster: Furnished) -> None:
    """Prometheus is asked at the instant of the decision."""
    idle(cluster)
    cluster.clock.advance(0.0004)
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert seen.at == round(seen.at, 3)
    assert {usage.at for usage in seen.snapshot.usage.values()} == {seen.at}
    assert {asked.parameters["time"] for asked in cluster.cluster.prometheus.asked} == {
        f"{seen.at:.3f}"
    }


def test_prometheus_is_left_alone_where_no_trigger_needs_it(cluster: Furnished) -> None:
    """A queue signal needs no samples."""
    cluster.cluster.objects.delete(Kind.SCALED_OBJECTS, LLM)
    queued(cluster)
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert cluster.cluster.prometheus.asked == []
    assert [decision.value for decision in decided(seen, POOL_SCALER)] == [4]


def test_a_kind_that_is_forbidden_is_asked_once_and_told(cluster: Furnished) -> None:
    """The words are those that `serve` finds."""
    cluster.cluster.api.faults.forbidden.add(Kind.PODS)
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    state = seen.snapshot.sources[Kind.PODS]
    assert (state.synced, state.installed, state.failures) == (False, True, 1)
    assert state.problem is not None
    assert state.problem.startswith("403 on list pods in all namespaces: ")
    assert len(api.lists(Kind.PODS)) == 1


def test_a_kind_that_is_not_installed_is_known_to_be_absent(cluster: Furnished) -> None:
    """It is not asked for."""
    cluster.serve_only(Kind.RAY_CLUSTERS)
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert not seen.snapshot.sources[Kind.RAY_CLUSTERS].installed
    assert api.lists(Kind.RAY_CLUSTERS) == []


def test_a_list_that_expires_is_begun_anew(cluster: Furnished) -> None:
    """A large list may outlast its token once; nothing of the first try is kept."""
    queued(cluster)
    with recording(cluster) as api:
        api.failures["workloads"] = [EXPIRED]
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    state = seen.snapshot.sources[Kind.WORKLOADS]
    assert (state.synced, state.problem) == (True, None)
    assert [params.get("continue") for params in api.lists(Kind.WORKLOADS)] == [None, None]


def test_a_list_that_fails_again_and_again_is_given_up(cluster: Furnished) -> None:
    """The look ends, and what is missing makes HOLD."""
    queued(cluster)
    with recording(cluster) as api:
        api.failures["workloads"] = [ApiError(500, "etcd is away")] * 10
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert len(api.lists(Kind.WORKLOADS)) < TURNS
    assert "500 on list workloads" in (seen.snapshot.sources[Kind.WORKLOADS].problem or "")
    assert [decision.reason for decision in decided(seen, POOL_SCALER)] == ["NotSynced"]


def test_without_scaled_objects_there_is_no_look(cluster: Furnished) -> None:
    """Nothing else is asked then."""
    cluster.cluster.api.faults.forbidden.add(Kind.SCALED_OBJECTS)
    with recording(cluster) as api, pytest.raises(UnreadableError, match="403 on list"):
        look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert api.lists(Kind.WORKLOADS) == []


class _Pages:
    """Keep the pages of a look."""

    def __init__(self) -> None:
        self.kept: dict[Kind, list[tuple[str, bool, bytes]]] = {}

    def page(self, kind: Kind, *, version: str, first: bool, raw: bytes) -> None:
        self.kept.setdefault(kind, []).append((version, first, raw))


def test_a_keeper_gets_every_page_with_its_version(cluster: Furnished) -> None:
    """The core group has no group in its version; a second page is none that begins."""
    for number in range(501):
        cluster.cluster.apply(
            Kind.NODES, {"metadata": {"name": f"cpu-{number}", "labels": {}}, "status": {}}
        )
    cluster.serve_only(Kind.WORKLOADS, "v1beta1")
    pages = _Pages()
    with recording(cluster) as api:
        look(api, policy=policy_of(cluster), clock=cluster.clock.now, keeper=pages)
    assert set(pages.kept) == set(RESOURCES)
    assert [(version, first) for version, first, _ in pages.kept[Kind.NODES]] == [
        ("v1", True),
        ("v1", False),
    ]
    ((version, first, raw),) = pages.kept[Kind.WORKLOADS]
    assert (version, first) == ("kueue.x-k8s.io/v1beta1", True)
    assert json.loads(raw)["kind"].endswith("List")


def test_ours_are_sorted_and_refs_keep_their_order(cluster: Furnished) -> None:
    """A ScaledObject that is not ours has no trigger here."""
    with recording(cluster) as api:
        seen = look(api, policy=policy_of(cluster), clock=cluster.clock.now)
    assert seen.ours() == (POOL_SCALER, LLM)
    assert [dict(ref.metadata)["signal"] for ref in seen.refs(LLM)] == ["idle"]
    assert seen.refs(("team-chat", "none")) == ()
    assert decided(seen, ("team-chat", "none")) == ()
