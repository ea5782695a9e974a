"""Area 3: faults of exporters and of their labels, none of which may look like idleness."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scaler.core.reasons import Reason
from tests.cases.cluster import nodes
from tests.cases.frame import Case, Run, idle, policy
from tests.cases.objects import Object, admitted, every, pod, pods
from tests.cases.series import Series, engine, util

EXPORTER = {"namespace": "monitoring", "pod": "gpu-dcgm-exporter-vfbhl", "container": "exporter"}


def case(
    *series: Series, gpus: int = 1, t: float = 0, more: Sequence[Object] = (), name: str = "a"
) -> Case:
    """Build a Workload of one running pod, `NAME-0`, and these series."""
    objects = every(nodes(1), admitted(name, gpus=gpus), pods(name, 1, gpus=gpus), more)
    return Case(trigger=idle(name), objects=objects, series=series, t=t)


def test_d01_exported_pod(explain: Run) -> None:
    """Where the exporter's own pod fills `pod`, `exported_pod` names the workload's."""
    named = {"exported_namespace": "ml", "exported_pod": "a-0"}
    shown = util("a-0", 0, 77, **EXPORTER, **named)
    found = explain(case(shown)).says(active=True, value=1, reason=Reason.BUSY)
    assert found.idle.devices[0].peak_percent == 77
    both = (shown, util("b-0", 0, 0))
    other = every(admitted("b"), pods("b", 1))
    explain(case(*both, more=other)).says(active=True, value=1, reason=Reason.BUSY)
    quiet = replace(case(*both, more=other), trigger=idle("b"))
    explain(quiet).says(active=False, value=1, reason=Reason.IDLE)


def test_d01_only_the_exporter_named(explain: Run) -> None:
    """A series that names nobody but the exporter's pod says nothing of the workload."""
    explain(case(util("a-0", 0, 77, **EXPORTER))).holds(Reason.NO_SAMPLES)
    explain(case(util("a-0", 0, 0, **EXPORTER))).holds(Reason.NO_SAMPLES)


@pytest.mark.parametrize("label", ["", None])
def test_d02_empty_pod(explain: Run, label: str | None) -> None:
    """Series without a pod make nobody idle."""
    explain(case(util("a-0", 0, 0, pod=label))).holds(Reason.NO_SAMPLES)


@pytest.mark.parametrize("with_util", [True, False])
def test_d03_mig_slice(explain: Run, *, with_util: bool) -> None:
    """GPU_UTIL says nothing of a MIG slice: the engine's 62 % counts."""
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/mig-1g.5gb": "1"}}}]
    }
    sliced = pod("a-0", workload="a", spec=spec)
    series = [engine("a-0", 0, 0.62, GPU_I_ID="1")]
    series += [util("a-0", 0, 0, GPU_I_ID="1")] if with_util else []
    objects = every(nodes(1), admitted("a"), sliced)
    found = explain(Case(trigger=idle("a"), objects=objects, series=series))
    told = found.says(active=True, value=1, reason=Reason.BUSY)
    assert [one.peak_percent for one in told.idle.devices] == [62]


@pytest.mark.parametrize(("second", "active"), [(0.62, True), (0.0, False)])
def test_d03_two_slices_are_two_devices(explain: Run, second: float, *, active: bool) -> None:
    """The key is UUID and GPU_I_ID: two slices of one GPU for a pod that asked for two."""
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/mig-1g.5gb": "2"}}}]
    }
    series = [
        engine("a-0", 0, value, UUID="GPU-1", GPU_I_ID=number)
        for number, value in (("1", 0.0), ("2", second))
    ]
    objects = every(nodes(1), admitted("a"), pod("a-0", workload="a", spec=spec))
    found = explain(Case(trigger=idle("a"), objects=objects, series=series))
    told = found.says(active=active, value=1)
    assert (len(told.idle.devices), told.idle.physical_gpus) == (2, 1)


@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
@pytest.mark.parametrize(("ratio", "active"), [(0.714, True), (0.0, False)])
def test_d04_time_slicing(explain: Run, name: str, ratio: float, *, active: bool) -> None:
    """The device's value stands at every pod that shares it: busy for all, or idle for all."""
    names = ("p1", "p2", "p3")
    objects = every(nodes(1), *map(admitted, names), *(pods(one, 1) for one in names))
    series = [engine(f"{one}-0", 0, ratio, UUID="GPU-1") for one in names]
    found = explain(Case(trigger=idle(name), objects=objects, series=series))
    told = found.says(active=active, value=1)
    assert told.idle.physical_gpus == 1


def test_d04_one_physical_gpu(explain: Run) -> None:
    """Three pods of one workload that share a GPU have one, not three."""
    series = [engine(f"a-{n}", 0, 0.714, UUID="GPU-1") for n in range(3)]
    objects = every(nodes(1), admitted("a", pods=3), pods("a", 3))
    found = explain(Case(trigger=idle("a"), objects=objects, series=series))
    assert found.says(active=True, value=3, reason=Reason.BUSY).idle.physical_gpus == 1


@pytest.mark.parametrize("name", ["p1", "p2", "p3", "p4"])
def test_d05_one_series_for_four_pods(explain: Run, name: str) -> None:
    """Pods that have no series may share the one that is measured: nobody is idle."""
    names = ("p1", "p2", "p3", "p4")
    objects = every(nodes(1), *map(admitted, names), *(pods(one, 1) for one in names))
    series = [engine("p1-0", 0, 0.0)]
    shared = Case(trigger=idle(name), objects=objects, series=series)
    explain(shared).holds(Reason.SHARING_SUSPECTED if name == "p1" else Reason.NO_SAMPLES)


def test_d05_alone_on_the_node_it_may_be_idle(explain: Run) -> None:
    """The same series of a pod that shares with nobody is idle."""
    explain(case(engine("a-0", 0, 0.0))).says(active=False, value=1, reason=Reason.IDLE)


@pytest.mark.parametrize(("value", "active"), [(0, False), (55, True)])
def test_d06_hostname_renamed(explain: Run, value: float, *, active: bool) -> None:
    """A label that changes its name in mid-window makes no second GPU and loses nothing."""
    old = util("a-0", 0, {-7200: value, -900: None}, UUID="GPU-1")
    new = util("a-0", 0, {-900: 0}, UUID="GPU-1", Hostname=None, hostname="n1")
    other = util("a-1", 0, 0, UUID="GPU-2", Hostname=None, hostname="n2")
    objects = every(
        nodes(2), admitted("a", pods=2), pods("a", 1), pod("a-1", workload="a", node="n2")
    )
    found = explain(Case(trigger=idle("a"), objects=objects, series=[old, new, other]))
    told = found.says(active=active, value=2, reason=Reason.BUSY if active else Reason.IDLE)
    assert told.idle.physical_gpus == 2


@pytest.mark.parametrize("gone", ["absent", "succeeded"])
def test_d07_series_of_a_finished_pod(explain: Run, gone: str) -> None:
    """Its series runs on for half an hour; the GPU is the new pod's, which is idle at 1800 s."""
    over = [pod("old-0", phase="Succeeded")] if gone == "succeeded" else []
    new = pod("new-0", workload="new", ready=0)
    objects = every(nodes(1), admitted("new", at=0), new, over)
    ghost = util("old-0", 0, 95, UUID="GPU-1")
    own = util("new-0", 0, {0: 0}, UUID="GPU-1")
    before = Case(trigger=idle("new"), objects=objects, series=[ghost, own], t=1799)
    explain(before).says(active=True, value=1, reason=Reason.STARTING)
    explain(replace(before, t=1800)).says(active=False, value=1, reason=Reason.IDLE)


def test_d07_a_finished_pods_samples_do_not_cover_for_the_new(explain: Run) -> None:
    """Where the new pod's own series began late, the old one's samples don't fill its window."""
    objects = every(nodes(1), admitted("new", at=0), pod("new-0", workload="new", ready=0))
    ghost = util("old-0", 0, 0, UUID="GPU-1")
    own = util("new-0", 0, {900: 0}, UUID="GPU-1")
    late = Case(trigger=idle("new"), objects=objects, series=[ghost, own], t=1800)
    explain(late).holds(Reason.LOW_COVERAGE)


def test_d08_profiling_metrics_on_some_nodes_only(explain: Run) -> None:
    """Each GPU falls back on what it has: the H100 is busy by GPU_UTIL, the L40S may be idle."""
    h100, l40s = util("h100-0", 0, 87), (engine("l40s-0", 0, 0.0), util("l40s-0", 0, 0))
    objects = every(
        nodes(2),
        admitted("h100"),
        pods("h100", 1, node="n1"),
        admitted("l40s"),
        pods("l40s", 1, node="n2"),
    )
    world = Case(trigger=idle("h100"), objects=objects, series=[h100, *l40s])
    busy = explain(world).says(active=True, value=1, reason=Reason.BUSY)
    assert busy.idle.devices[0].peak_percent == 87
    explain(replace(world, trigger=idle("l40s"))).says(active=False, value=1, reason=Reason.IDLE)


BLANKS = (140737488355328.0, 9223372036854775794.0, 9223372036854775792.0, 9223372036854776000.0)


@pytest.mark.parametrize("blank", [*BLANKS, *(one * 100 for one in BLANKS), float("nan"), -1.0])
def test_d09_sentinels_are_no_samples(explain: Run, blank: float) -> None:
    """A blank that was exported as a number is neither busy nor idle."""
    explain(case(util("a-0", 0, blank), engine("a-0", 0, blank))).holds(Reason.NO_SAMPLES)
    explain(case(util("a-0", 0, blank))).holds(Reason.NO_SAMPLES)
    explain(case(engine("a-0", 0, blank))).holds(Reason.NO_SAMPLES)


def test_d10_labelled_and_unlabelled(explain: Run) -> None:
    """One UUID with and without pod labels is one GPU, busy by the labelled series."""
    bare = util("a-0", 0, 0, UUID="GPU-1", pod="", namespace="")
    named = util(
        "a-0", 0, 73, UUID="GPU-1", exported_pod="a-0", exported_namespace="ml", **EXPORTER
    )
    found = explain(case(bare, named)).says(active=True, value=1, reason=Reason.BUSY)
    assert (found.idle.physical_gpus, found.idle.devices[0].peak_percent) == (1, 73)


@pytest.mark.parametrize("t", [1200, 1230, 1260, 1290, 1500])
def test_d11_exporter_restart(explain: Run, t: float) -> None:
    """Samples that lost their pod for a minute reset nothing and make nobody idle."""
    own = engine("a-0", 0, {-7200: 0.38, 1200: None, 1261: 0.38}, UUID="GPU-1")
    bare = engine("a-0", 0, {1200: 0.381, 1261: None}, UUID="GPU-1", pod="")
    found = explain(case(own, bare, t=t)).says(active=True, value=1, reason=Reason.BUSY)
    assert found.idle.physical_gpus == 1


def test_d11_the_gap_hides_no_work(explain: Run) -> None:
    """Work that is seen only while the label is lost counts through the UUID."""
    own = engine("a-0", 0, {-7200: 0.0, 1200: None, 1261: 0.0}, UUID="GPU-1")
    bare = engine("a-0", 0, {1200: 0.381, 1261: None}, UUID="GPU-1", pod="")
    explain(case(own, bare, t=3059)).says(active=True, value=1, reason=Reason.BUSY)
    explain(case(own, bare, t=3060)).says(active=False, value=1, reason=Reason.IDLE)


@pytest.mark.parametrize(("t", "known"), [(1290, True), (1291, False), (1500, False)])
def test_d11_no_sample_at_all(explain: Run, t: float, *, known: bool) -> None:
    """A UUID without any sample for longer than maxSampleAge is unknown."""
    ran = explain(case(engine("a-0", 0, {-7200: 0.38, 1201: None}), t=t))
    if known:
        ran.says(active=True, value=1, reason=Reason.BUSY)
    else:
        ran.holds(Reason.STALE_SAMPLES)


def test_d12_spinning_servers_are_busy(explain: Run) -> None:
    """GPUs that spin at 100 % without requests are busy by default."""
    series = (util("a-0", 0, 100), util("a-0", 1, 100))
    explain(case(*series, gpus=2, t=3600)).says(active=True, value=1, reason=Reason.BUSY)


@pytest.mark.parametrize(("ratio", "active"), [(0.005, False), (0.2, True)])
def test_d12_a_stricter_signal_may_be_set(explain: Run, ratio: float, *, active: bool) -> None:
    """Where operators choose a signal such as SM_ACTIVE themselves, that one decides."""
    settings = {
        "profile": "custom",
        "custom": {
            "signals": [{"name": "sm_active", "metric": "DCGM_FI_PROF_SM_ACTIVE", "maximum": 1}],
            "deviceLabel": "UUID",
            "resources": ["nvidia.com/gpu"],
        },
    }
    spinning = [util("a-0", gpu, 100) for gpu in (0, 1)]
    strict = [replace(one, metric="DCGM_FI_PROF_SM_ACTIVE") for one in spinning]
    strict = [replace(one, points=dict.fromkeys(one.points, ratio)) for one in strict]
    world = replace(case(*spinning, *strict, gpus=2), policy=policy(prometheus=settings))
    explain(world).says(active=active, value=1)


def test_d13_ratio_against_percentage(explain: Run) -> None:
    """0.42 is 42 %, which is above a threshold of 5 %."""
    world = replace(case(engine("a-0", 0, 0.42)), trigger=idle("a", busyFromPercent="5"))
    found = explain(world).says(active=True, value=1, reason=Reason.BUSY)
    assert found.idle.devices[0].peak_percent == 42


def test_d13_ratio_as_threshold(explain: Run) -> None:
    """A threshold of 0.05 is a ratio by mistake: refused in a trigger and in the policy."""
    world = case(engine("a-0", 0, 0.42))
    explain(replace(world, trigger=idle("a", busyFromPercent="0.05"))).refuses(
        "busyFromPercent", "0.05"
    )
    bad = policy(defaults={"busyFromPercent": 0.05})
    ran = explain(replace(world, policy=bad))
    assert (ran.code, ran.out) == (2, "")
    assert "defaults.busyFromPercent" in ran.err
    assert "0.05" in ran.err


def test_d14_one_quiet_gpu_of_four(explain: Run) -> None:
    """One GPU at 0 % among three at 100 % is healthy training."""
    series = [util("a-0", gpu, value) for gpu, value in enumerate((0, 100, 100, 100))]
    found = explain(case(*series, gpus=4)).says(active=True, value=1, reason=Reason.BUSY)
    assert len(found.idle.devices) == 4


def test_d14_one_quiet_pod_of_two(explain: Run) -> None:
    """A pod whose GPUs are all quiet is kept by the other pod's."""
    series = [util(f"a-{n}", gpu, 100 * n) for n in range(2) for gpu in range(4)]
    objects = every(nodes(1), admitted("a", pods=2, gpus=4), pods("a", 2, gpus=4))
    world = Case(trigger=idle("a"), objects=objects, series=series)
    explain(world).says(active=True, value=2, reason=Reason.BUSY)
