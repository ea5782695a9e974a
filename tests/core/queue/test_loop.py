"""Loop: HPA, machines, Kueue and the scheduler act on the value, and it neither dips nor bumps."""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.decide import decide
from scaler.core.model import Instant, Kind, Node, Pod, SourceState, Workload
from scaler.core.reasons import WorkloadClass
from scaler.core.trigger import TriggerRef
from scaler.observer.changes import Changed, Listed, SourceChanged
from scaler.observer.join import Joiner
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_flavor,
    make_hpa,
    make_local_queue,
    make_node,
    make_pod,
    make_workload,
)
from tests.core.queue_fixture import NODES, POLICY, make_sizer

STEP = 30.0
"""Seconds between two looks."""

STEPS = 50
PRODUCT = {"pool": "gpu", "nvidia.com/gpu.product": "A100"}
REF = TriggerRef.of(namespace="ml", name="so", metadata=NODES)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One Workload of one pod, and how many steps each thing about it takes."""

    gpus: int
    arrives: int
    admitted_after: int
    pod_after: int
    topology: bool
    """Kueue admits it only once a node has room for it."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Steps until the Node is there, is Ready, has its GPUs, has its labels."""

    joins: int
    ready: int
    devices: int
    labels: int


@dataclass
class World:
    """The cluster around the scaler; `look` gives the value of this moment."""

    jobs: list[Job]
    machines: list[Machine]
    sync: int = 1
    """Steps between two looks of the HPA."""
    most: int = 100
    """Nodes that the HPA may add at once."""
    refused: frozenset[int] = frozenset()
    """Steps at which a quota refuses what the HPA writes."""
    step: int = 0
    size: int = 0
    found: int = 0
    """The size as the HPA's last sync found it."""
    left: int | None = 0
    """The size as that sync left it; None where its write was refused."""
    resized: Instant = NOW - 7200
    ordered: list[tuple[int, Machine]] = field(default_factory=list)
    admitted: dict[int, int] = field(default_factory=dict)
    bound: dict[int, str] = field(default_factory=dict)
    joiner: Joiner = field(default_factory=Joiner)

    def __post_init__(self) -> None:
        """Tell what never changes."""
        self.joiner.apply(Changed(kind=Kind.CLUSTER_QUEUES, record=make_cluster_queue()))
        self.joiner.apply(Changed(kind=Kind.LOCAL_QUEUES, record=make_local_queue()))
        flavor = make_flavor(node_labels=PRODUCT)
        self.joiner.apply(Changed(kind=Kind.RESOURCE_FLAVORS, record=flavor))
        self.joiner.apply(Changed(kind=Kind.SCALED_OBJECTS, record=make_sizer()))

    @property
    def now(self) -> Instant:
        """Give the time."""
        return NOW + self.step * STEP

    def nodes(self) -> list[Node]:
        """Give the Nodes that have joined, as far as they have come."""
        return [
            _node(f"node-{number}", machine, joined=ordered + machine.joins, step=self.step)
            for number, (ordered, machine) in enumerate(self.ordered)
            if ordered + machine.joins <= self.step
        ]

    def room(self) -> dict[str, int]:
        """Give the free GPUs of Nodes that the scheduler may use."""
        free = {
            one.name: dict(one.allocatable).get("nvidia.com/gpu", 0)
            for one in self.nodes()
            if one.ready and PRODUCT.items() <= one.labels.items()
        }
        for number, node in self.bound.items():
            free[node] -= self.jobs[number].gpus
        return free

    def act(self) -> None:
        """Let Kueue admit and the scheduler bind what they can."""
        for number, job in enumerate(self.jobs):
            free = self.room()
            fits = [name for name in free if free[name] >= job.gpus]
            due = self.step >= job.arrives + job.admitted_after
            if number not in self.admitted and due and (fits or not job.topology):
                self.admitted[number] = self.step
            if number not in self.bound and self._has_pod(number) and fits:
                self.bound[number] = min(fits, key=lambda name: (free[name], name))

    def _has_pod(self, number: int) -> bool:
        after = self.jobs[number].pod_after
        return number in self.admitted and self.step >= self.admitted[number] + after

    def workloads(self) -> list[Workload]:
        """Give the Workloads as Kueue shows them."""
        return [
            _workload(number, job, self.admitted.get(number))
            for number, job in enumerate(self.jobs)
            if job.arrives <= self.step
        ]

    def pods(self) -> list[Pod]:
        """Give the pods: not there, Pending, at last bound."""
        return [
            make_pod(
                name=f"p{number}",
                uid=f"p{number}",
                gpus=job.gpus,
                workload=f"w{number}",
                phase="Running" if number in self.bound else "Pending",
                unschedulable=number not in self.bound,
                node=self.bound.get(number),
            )
            for number, job in enumerate(self.jobs)
            if self._has_pod(number)
        ]

    def look(self) -> int:
        """Decide on what there is now."""
        hpa = make_hpa(
            current_replicas=self.found or None,
            scaling_disabled=self.found == 0 and not self.left,
            scaling_active_changed=self.resized,
        )
        hpa = replace(hpa, desired_replicas=self.left)
        for kind in Kind:
            alive = SourceState(synced=True, last_alive=self.now)
            self.joiner.apply(SourceChanged(kind=kind, state=alive))
        self.joiner.apply(Listed(kind=Kind.WORKLOADS, records=self.workloads()))
        self.joiner.apply(Listed(kind=Kind.PODS, records=self.pods()))
        self.joiner.apply(Listed(kind=Kind.NODES, records=self.nodes()))
        self.joiner.apply(Listed(kind=Kind.HPAS, records=[hpa]))
        snapshot, _ = self.joiner.snapshot(at=self.now)
        decision = decide(snapshot=snapshot, ref=REF, policy=POLICY, now=self.now)
        assert decision.value is not None, decision
        return decision.value

    def resize(self, value: int) -> None:
        """Let the HPA follow, as often as it syncs; each new replica is a machine ordered.

        From zero KEDA takes the first step, and the HPA sees it at its next sync.
        """
        if self.step % self.sync:
            return
        self.found = self.left = self.size
        wanted = min(value, self.size + self.most) if self.size else min(value, 1)
        if wanted <= self.size:
            return
        if self.step in self.refused:
            self.left = None
            return
        for _ in range(wanted - self.size):
            machine = self.machines[len(self.ordered) % len(self.machines)]
            self.ordered.append((self.step, machine))
        self.found = self.size or 1
        self.left = self.size = wanted
        self.resized = self.now


def _node(name: str, machine: Machine, *, joined: int, step: int) -> Node:
    age = step - joined
    ready = age >= machine.ready
    return make_node(
        name=name,
        labels=PRODUCT if age >= machine.labels else {"pool": "gpu"},
        gpus=8 if ready and age >= machine.devices else 0,
        ready=ready,
        created=NOW + joined * STEP,
        ready_changed=NOW + (joined + (machine.ready if ready else 0)) * STEP,
    )


def _workload(number: int, job: Job, admitted: int | None) -> Workload:
    waits = WorkloadClass.TOPOLOGY if job.topology else WorkloadClass.NOT_EVALUATED
    return make_workload(
        name=f"w{number}",
        uid=f"w{number}",
        gpus=job.gpus,
        created=NOW + job.arrives * STEP,
        standing=waits if admitted is None else WorkloadClass.RUNNING,
        admitted=admitted is not None,
        admitted_at=None if admitted is None else NOW + admitted * STEP,
    )


jobs = st.builds(
    Job,
    gpus=st.just(8),
    arrives=st.integers(0, 12),
    admitted_after=st.integers(0, 3),
    pod_after=st.integers(0, 3),
    topology=st.booleans(),
)
machines = st.builds(
    Machine,
    joins=st.integers(1, 10),
    ready=st.integers(0, 12),
    devices=st.integers(0, 14),
    labels=st.integers(0, 14),
)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(jobs, min_size=1, max_size=5),
    st.lists(machines, min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_as_many_nodes_as_jobs_whatever_comes_when(
    found: list[Job], kinds: list[Machine], sync: int
) -> None:
    """Each job fills a node, so the value is the number of jobs that have come.

    It never falls or rises beyond, whatever stage Workloads, pods and nodes are in.
    """
    world = World(jobs=found, machines=kinds, sync=sync)
    for world.step in range(STEPS):
        world.act()
        value = world.look()
        assert value == sum(job.arrives <= world.step for job in found)
        world.resize(value)
    assert len(world.bound) == len(found)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.builds(replace, jobs, gpus=st.sampled_from((1, 2, 4, 8))), min_size=1, max_size=6),
    st.lists(machines, min_size=1, max_size=4),
)
def test_small_jobs_are_all_placed_and_never_cost_a_node_each(
    found: list[Job], kinds: list[Machine]
) -> None:
    """Jobs share nodes; what is bought holds them all, and shrinks at no time."""
    world = World(jobs=found, machines=kinds)
    for world.step in range(STEPS):
        world.act()
        value = world.look()
        assert world.size <= value <= len(found)
        world.resize(value)
    assert len(world.bound) == len(found)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(jobs, min_size=1, max_size=8),
    st.lists(machines, min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.frozensets(st.integers(0, STEPS - 20)),
)
def test_neither_limits_nor_refusals_of_the_hpa_make_the_value_run_away(
    found: list[Job], kinds: list[Machine], sync: int, most: int, refused: frozenset[int]
) -> None:
    """The HPA's numbers are behind its target's, in steps, or those of a write that failed."""
    world = World(jobs=found, machines=kinds, sync=sync, most=most, refused=refused)
    for world.step in range(STEPS):
        world.act()
        value = world.look()
        assert value == sum(job.arrives <= world.step for job in found)
        world.resize(value)
    assert world.size == len(found)
