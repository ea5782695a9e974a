"""Trigger metadata gives a trigger or all of its problems, and one metric name."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.metadata import IDLE_KEYS, KEDA_KEYS, QUEUE_KEYS, metric_name, open_metadata, parse
from scaler.core.trigger import (
    IdleTrigger,
    InvalidTrigger,
    QueueTrigger,
    Scope,
    TriggerRef,
    Unit,
)

QUEUE = {"signal": "queue", "clusterQueue": "research", "pool": "a100"}
IDLE = {"signal": "idle"}

WORDS = st.sampled_from(
    ["queue", "idle", "nodes", "gpus", "total", "pending", "never", "true", "1", "30m", "a", "x,y"]
)
KEYS = st.sampled_from(["signal", *QUEUE_KEYS, *IDLE_KEYS, *sorted(KEDA_KEYS), "poolFromEnv"])
METADATA = st.dictionaries(KEYS | st.text(max_size=8), WORDS | st.text(max_size=8), max_size=12)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,30}[a-z0-9])?", fullmatch=True)
QUEUE_TRIGGERS = st.builds(
    QueueTrigger,
    cluster_queues=st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple),
    flavor=st.none() | NAMES,
    unit=st.sampled_from(Unit),
    scope=st.sampled_from(Scope),
    pool=st.none() | NAMES,
    gpus_per_node=st.none() | st.integers(1, 16),
    quota_follows_nodes=st.booleans(),
    scale_up_delay=st.sampled_from([0.0, 30.0, 60.0]),
)
IDLE_TRIGGERS = st.builds(
    IdleTrigger,
    workload=st.none() | NAMES | NAMES.map(lambda name: f"RayCluster/{name}"),
    component=st.none() | NAMES,
    idle_after=st.none() | st.floats(1, 1e6),
    busy_from_percent=st.none() | st.floats(1, 100),
    keep_alive=st.none() | st.text(min_size=1, max_size=20),
    wake=st.none() | st.text(min_size=1, max_size=20),
    replicas=st.none() | st.integers(1, 9),
    dry_run=st.none() | st.booleans(),
)
TRIGGERS = QUEUE_TRIGGERS | IDLE_TRIGGERS


def problems(metadata: dict[str, str]) -> dict[str, str]:
    """Give what is allowed, by the path of each problem."""
    parsed = parse(metadata)
    assert isinstance(parsed, InvalidTrigger)
    return {problem.path: problem.allowed for problem in parsed.problems}


def test_queue_defaults() -> None:
    """Only clusterQueue and a node's shape are required of a queue signal."""
    assert parse(QUEUE) == QueueTrigger(cluster_queues=("research",), pool="a100")


def test_queue_in_full() -> None:
    """Every key of the queue signal is read, KEDA's own are passed over."""
    metadata = {
        "signal": "queue",
        "clusterQueue": "research, prod",
        "resourceFlavor": "a100-80g",
        "resource": "nvidia.com/mig-1g.10gb",
        "unit": "nodes",
        "scope": "total",
        "pool": "a100",
        "gpusPerNode": "8",
        "quotaFollowsNodes": "True",
        "shrink": "never",
        "scaleUpDelay": "1m30s",
        "scalerAddress": "kueue-gpu-scaler.keda:9090",
        "enableTLS": "true",
        "caCert": "PEM",
    }
    assert parse(metadata) == QueueTrigger(
        cluster_queues=("research", "prod"),
        flavor="a100-80g",
        resource="nvidia.com/mig-1g.10gb",
        pool="a100",
        gpus_per_node=8,
        quota_follows_nodes=True,
        scale_up_delay=90.0,
    )


def test_idle_in_full() -> None:
    """Every key of the idle signal is read."""
    metadata = {
        "signal": "idle",
        "workload": "RayCluster/llm",
        "component": "workers",
        "idleAfter": "45m",
        "busyFromPercent": "2.5",
        "graceAfterStart": "0s",
        "keepAlive": "vllm-requests",
        "wake": "ray-pending",
        "replicas": "4",
        "dryRun": "true",
    }
    assert parse(metadata) == IdleTrigger(
        workload="RayCluster/llm",
        component="workers",
        idle_after=2700.0,
        busy_from_percent=2.5,
        grace_after_start=0.0,
        keep_alive="vllm-requests",
        wake="ray-pending",
        replicas=4,
        dry_run=True,
    )


def test_idle_defaults() -> None:
    """An idle signal needs no key: what it does not say is the policy's."""
    assert parse(IDLE) == IdleTrigger()


def test_unknown_queue_parses() -> None:
    """K05: a ClusterQueue that may not exist is no business of the metadata."""
    metadata = {"signal": "queue", "clusterQueue": "does-not-exist", "pool": "gpu"}
    assert isinstance(parse(metadata), QueueTrigger)


def test_missing_keys() -> None:
    """K05: missing keys are named like malformed ones."""
    assert set(problems({"signal": "queue"})) == {"clusterQueue", "pool/gpusPerNode"}
    assert set(problems({})) == {"signal"}


@pytest.mark.parametrize("text", ["0", "-1", "", "eight", "1.5", "1025"])
@pytest.mark.parametrize("unit", ["nodes", "gpus"])
def test_gpus_per_node_refused(text: str, unit: str) -> None:
    """K08: what is no number of GPUs is refused for every unit."""
    metadata = {"signal": "queue", "clusterQueue": "q", "unit": unit, "gpusPerNode": text}
    assert problems(metadata) == {"gpusPerNode": "allowed is a whole number from 1 to 1024"}


@pytest.mark.parametrize("unit", ["gpus", "workloads"])
def test_shape_optional(unit: str) -> None:
    """K08: units other than nodes need neither a pool nor gpusPerNode."""
    assert isinstance(parse({"signal": "queue", "clusterQueue": "q", "unit": unit}), QueueTrigger)


@pytest.mark.parametrize("text", ["0.05", "0", "101", "-1", "nan", "1%", "", "ten"])
def test_percentage_refused(text: str) -> None:
    """D13: a ratio given for a percentage is refused, and so is all that is not within 1-100."""
    assert set(problems(IDLE | {"busyFromPercent": text})) == {"busyFromPercent"}


@pytest.mark.parametrize("text", ["0s", "-5m", "abc", "", "30"])
def test_idle_after_refused(text: str) -> None:
    """A window is a duration above zero."""
    assert set(problems(IDLE | {"idleAfter": text})) == {"idleAfter"}


def test_all_problems_at_once() -> None:
    """Each bad key is named in one answer, with its value and what is allowed."""
    parsed = parse({"signal": "idle", "replicas": "0", "dryRun": "yes", "idleafter": "5m"})
    assert isinstance(parsed, InvalidTrigger)
    texts = [str(problem) for problem in parsed.problems]
    assert texts[:1] == ["dryRun: 'yes' is not allowed; allowed are true and false"]
    assert texts[1].startswith(
        "idleafter: '5m' is not allowed; the key is unknown; did you mean idleAfter? allowed are "
    )
    assert texts[2].startswith("replicas: '0' is not allowed; allowed is a whole number from 1")


def test_key_of_other_signal() -> None:
    """A key that belongs to the other signal is an error, and says to which."""
    assert problems(QUEUE | {"idleAfter": "5m"}) == {"idleAfter": "the key belongs to signal idle"}
    assert problems(IDLE | {"pool": "a100"}) == {"pool": "the key belongs to signal queue"}


def test_unknown_signal_reads_on() -> None:
    """Without a signal the values of the known keys are still judged."""
    found = problems({"signal": "Queue", "gpusPerNode": "x", "replicas": "0", "wat": "1"})
    assert set(found) == {"signal", "gpusPerNode", "replicas", "wat"}


def test_from_env() -> None:
    """A key of ours with FromEnv is refused, and its value, which may be a secret, not shown."""
    parsed = parse(QUEUE | {"resourceFromEnv": "hunter2"})
    assert isinstance(parsed, InvalidTrigger)
    assert [problem.path for problem in parsed.problems] == ["resourceFromEnv"]
    assert "give resource as plain text" in str(parsed.problems[0])
    assert "hunter2" not in str(parsed.problems[0])


@pytest.mark.parametrize(
    ("extra", "fine"),
    [
        ({"shrink": "never"}, True),
        ({"shrink": "whenEmpty"}, False),
        ({"shrink": "never", "scope": "pending"}, False),
        ({"shrink": "never", "unit": "gpus"}, False),
    ],
)
def test_shrink(extra: dict[str, str], *, fine: bool) -> None:
    """Shrink goes with a pool's total alone, and only `never`."""
    assert isinstance(parse(QUEUE | extra), QueueTrigger) == fine
    assert fine or set(problems(QUEUE | extra)) == {"shrink"}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("clusterQueue", ""),
        ("clusterQueue", "a,,b"),
        ("clusterQueue", "a,a"),
        ("clusterQueue", "Research"),
        ("resource", "gpu"),
        ("resource", "cpu"),
        ("resourceFlavor", "a b"),
        ("unit", "node"),
        ("scope", ""),
        ("pool", ""),
        ("quotaFollowsNodes", "1"),
        ("scaleUpDelay", "-1s"),
    ],
)
def test_malformed_queue_values(key: str, text: str) -> None:
    """A malformed value of the queue signal is refused by its key."""
    assert set(problems(QUEUE | {key: text})) == {key}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("workload", ""),
        ("workload", "raycluster/x/y"),
        ("workload", "RayCluster/"),
        ("component", "Worker Group"),
        ("graceAfterStart", "soon"),
        ("keepAlive", " "),
        ("wake", "x" * 2001),
        ("replicas", "two"),
    ],
)
def test_malformed_idle_values(key: str, text: str) -> None:
    """A malformed value of the idle signal is refused by its key, and shown in part at most."""
    parsed = parse(IDLE | {key: text})
    assert isinstance(parsed, InvalidTrigger)
    assert [(problem.path, problem.value) for problem in parsed.problems] == [(key, text[:80])]


@given(METADATA)
def test_any_metadata(metadata: dict[str, str]) -> None:
    """Any text gives a trigger, or problems that name keys which are there or required."""
    parsed = parse(metadata)
    if isinstance(parsed, InvalidTrigger):
        required = {"signal", "clusterQueue", "pool/gpusPerNode"}
        paths = [problem.path for problem in parsed.problems]
        assert paths
        assert set(paths) <= metadata.keys() | required
    else:
        assert isinstance(parsed, (QueueTrigger, IdleTrigger))
        assert (isinstance(parsed, QueueTrigger) and metadata["signal"] == "queue") or (
            isinstance(parsed, IdleTrigger) and metadata["signal"] == "idle"
        )


@given(METADATA)
def test_metric_name_of_any_metadata(metadata: dict[str, str]) -> None:
    """A name is empty for malformed metadata, and otherwise one of the alphabet, not too long."""
    ref = TriggerRef.of(namespace="ml", name="x", metadata=metadata)
    name = metric_name(ref)
    if isinstance(parse(metadata), InvalidTrigger):
        assert name == ""
    else:
        assert re.fullmatch(r"[a-z0-9-]{1,43}", name)


@given(TRIGGERS)
def test_metric_name_alphabet(trigger: QueueTrigger | IdleTrigger) -> None:
    """Names are of lower-case letters, digits and dashes, and short."""
    assert re.fullmatch(r"[a-z0-9-]{1,43}", metric_name(trigger))


@given(st.one_of(st.tuples(QUEUE_TRIGGERS, QUEUE_TRIGGERS), st.tuples(TRIGGERS, TRIGGERS)))
def test_metric_names_differ(pair: tuple[QueueTrigger | IdleTrigger, ...]) -> None:
    """Two triggers share a name if and only if they mean the same."""
    meanings = [
        replace(trigger, cluster_queues=tuple(sorted(trigger.cluster_queues)))
        if isinstance(trigger, QueueTrigger)
        else trigger
        for trigger in pair
    ]
    assert (metric_name(pair[0]) == metric_name(pair[1])) == (meanings[0] == meanings[1])


def test_metric_name_is_stable() -> None:
    """A name is for ever: neither KEDA's keys, nor order, nor a spelt-out default change it."""
    name = metric_name(TriggerRef.of(namespace="ml", name="x", metadata=QUEUE))
    assert name == "queue-research-16d762dec296"
    spelt = QUEUE | {"unit": "nodes", "scope": "total", "scalerAddress": "elsewhere:1"}
    assert metric_name(TriggerRef.of(namespace="other", name="y", metadata=spelt)) == name
    lists = [QUEUE | {"clusterQueue": text} for text in ("a,b", "b, a")]
    refs = [TriggerRef.of(namespace="ml", name="x", metadata=metadata) for metadata in lists]
    assert metric_name(refs[0]) == metric_name(refs[1])


def test_values_are_open_by_a_list_of_keys() -> None:
    """Of keys that nobody knows, the next version's or another scaler's, no value is."""
    metadata = {**QUEUE, "scalerAddress": "a:1", "tlsClientKey": "k", "x": "y"}
    found = dict(open_metadata(metadata.items()))
    assert {key for key, value in found.items() if value is None} == {"tlsClientKey", "x"}
    assert found["clusterQueue"] == QUEUE["clusterQueue"]


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        ("idleAfter", ("60s", "1m")),
        ("graceAfterStart", ("0s", "0m")),
        ("busyFromPercent", ("5", "5.0")),
    ],
)
def test_equal_triggers_are_written_alike(key: str, texts: tuple[str, str]) -> None:
    """A name is kept for all that are equal; made anew by another replica it must be the same."""
    one, other = (parse({**IDLE, key: text}) for text in texts)
    assert one == other
    assert repr(one) == repr(other)
