"""The observer decides what a change touches, and publishes it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from scaler.core.decision import Status
from scaler.core.model import Kind, SourceState, TargetRef
from scaler.core.policy import Policy, Pool
from scaler.core.reasons import Reason, WorkloadClass
from scaler.core.scales import default_ref
from scaler.core.trigger import TriggerRef
from scaler.observer.changes import Inbox
from scaler.observer.observer import Observer, decide_safely
from scaler.policyfile import PolicyState
from scaler.store import State, Store
from tests.builders import (
    NOW,
    make_cluster_queue,
    make_flavor,
    make_hold,
    make_hpa,
    make_local_queue,
    make_scaled_object,
    make_snapshot,
    make_target,
    make_worker_scale,
    make_workload,
)

PATIENCE = 10.0

GPU = Pool(
    name="gpu",
    node_selector=(("pool", "gpu"),),
    node=(("nvidia.com/gpu", 8),),
    max_nodes=10,
)
METADATA = {"signal": "queue", "clusterQueue": "gpu-cq", "pool": "gpu"}
MACHINES = TargetRef(name="gpu", kind="MachineSet", api_version="machine.openshift.io/v1beta1")
REF = TriggerRef.of(namespace="ml", name="pool", metadata=METADATA)


@dataclass(slots=True)
class PolicyScript:
    """A policy file whose states a test puts in order."""

    states: list[PolicyState] = field(default_factory=list)

    def poll(self) -> PolicyState | None:
        """Give the next state, None while nothing changed."""
        return self.states.pop(0) if self.states else None


class Watching:
    """Wait for a published State that fulfils a condition."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._news = threading.Condition()
        self.changed: list[frozenset[TriggerRef]] = []
        store.listen(self._published)

    def _published(self, _state: State, changed: frozenset[TriggerRef]) -> None:
        with self._news:
            self.changed.append(changed)
            self._news.notify_all()

    def until(self, condition: Callable[[State], bool]) -> State:
        """Give the first State that fulfils the condition; fail after PATIENCE."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while not condition(state := self._store.latest()):
                assert self._news.wait(deadline - time.monotonic()), "no such State came"
        return state


@dataclass(kw_only=True)
class Running:
    """A running observer and what a test feeds it."""

    inbox: Inbox
    store: Store
    watching: Watching
    policy: PolicyScript

    def sync(self) -> None:
        """Say that every kind is listed and alive, with one queue trigger at size 1."""
        self.inbox.listed(Kind.CLUSTER_QUEUES, [make_cluster_queue()], 0)
        self.inbox.listed(Kind.LOCAL_QUEUES, [make_local_queue()], 0)
        self.inbox.listed(Kind.RESOURCE_FLAVORS, [make_flavor()], 0)
        self.inbox.listed(Kind.HPAS, [make_hpa(name="keda-hpa-pool", current_replicas=1)], 0)
        scaled_object = make_scaled_object(
            name="pool", metadata=METADATA, target=MACHINES, hpa_name="keda-hpa-pool"
        )
        self.inbox.listed(Kind.SCALED_OBJECTS, [scaled_object], 0)
        for kind in Kind:
            self.inbox.state(kind, SourceState(synced=True, last_alive=NOW))

    def decided(self, condition: Callable[[State], bool]) -> State:
        """Wait until the trigger's Decision fulfils a condition."""
        return self.watching.until(lambda state: REF in state.decisions and condition(state))


@contextmanager
def observing(
    *, tick_seconds: float = 3600.0, script: PolicyScript | None = None
) -> Iterator[Running]:
    """Run an observer with a policy of one pool; it ticks only when told to."""
    policy = PolicyState(policy=Policy(pools={"gpu": GPU}))
    store = Store(policy=policy, at=NOW)
    inbox, script = Inbox(), script or PolicyScript()
    observer = Observer(
        inbox=inbox,
        store=store,
        policy=script,
        clock=lambda: NOW,
        tick_seconds=tick_seconds,
        policy_poll_seconds=0.01,
    )
    running = Running(inbox=inbox, store=store, watching=Watching(store), policy=script)
    observer.start()
    try:
        yield running
    finally:
        observer.stop()


def test_before_anything_synced_every_trigger_holds() -> None:
    """A trigger that KEDA asks for is decided although no ScaledObject was seen."""
    with observing(tick_seconds=0.01) as running:
        running.store.ask(REF, now=NOW)
        state = running.decided(lambda _: True)
        decision = state.decisions[REF]
        assert (decision.status, decision.reason) == (Status.HOLD, Reason.NOT_SYNCED)


def test_a_new_workload_raises_the_value_and_is_told_as_a_change() -> None:
    """From the event to the listeners there is one turn of the observer."""
    with observing() as running:
        running.sync()
        running.decided(lambda state: state.decisions[REF].value == 1)
        running.inbox.changed(
            Kind.WORKLOADS, make_workload(gpus=8, standing=WorkloadClass.TOPOLOGY)
        )
        running.decided(lambda state: state.decisions[REF].value == 2)
        assert running.watching.changed[-1] == {REF}


def test_a_change_elsewhere_decides_nothing_anew() -> None:
    """The cached Decision stays the same object while nothing that it read has changed."""
    with observing() as running:
        running.sync()
        before = running.decided(lambda state: state.decisions[REF].status is Status.OK)
        other = make_workload(
            name="other", cluster_queue="elsewhere", admitted=True, namespace="far"
        )
        running.inbox.changed(Kind.WORKLOADS, other)
        after = running.watching.until(lambda state: "elsewhere" in state.snapshot.queues)
        assert after.decisions[REF] is before.decisions[REF]


def test_a_new_policy_decides_anew() -> None:
    """Hot: no restart, within one poll."""
    with observing() as running:
        running.sync()
        running.decided(lambda state: state.decisions[REF].status is Status.OK)
        running.policy.states.append(PolicyState(policy=Policy()))
        state = running.decided(lambda state: state.decisions[REF].status is Status.HOLD)
        assert state.decisions[REF].reason is Reason.POOL_MISSING


def test_a_deleted_scaled_object_is_forgotten() -> None:
    """Its Decision goes with it, so that metrics and pages stay true."""
    with observing() as running:
        running.sync()
        running.decided(lambda _: True)
        running.inbox.deleted(Kind.SCALED_OBJECTS, ("ml", "pool"))
        running.watching.until(lambda state: REF not in state.decisions)


def test_a_worker_scale_is_decided_without_a_scaled_object() -> None:
    """A WorkerScale has a Decision as soon as it is there, and none once it is gone."""
    scale = make_worker_scale()
    own = default_ref(scale)
    with observing() as running:
        running.sync()
        running.inbox.changed(Kind.WORKER_SCALES, scale)
        running.watching.until(lambda state: own in state.decisions)
        running.inbox.deleted(Kind.WORKER_SCALES, scale.key)
        running.watching.until(lambda state: own not in state.decisions)


def test_a_hold_that_wakes_raises_the_value_at_once() -> None:
    """Queue signals read holds: a wake asks for nodes before its pods are there."""
    workload = make_workload(gpus=8, pods=2, admitted=True, uid="u", created=NOW - 7200)
    scale = make_worker_scale(replicas=0)
    waking = make_hold(workload_uid="u", pod_sets={"main": 2}, waking_at=NOW)
    with observing() as running:
        running.sync()
        running.inbox.changed(Kind.WORKLOADS, workload)
        running.inbox.changed(Kind.WORKER_SCALES, scale)
        running.decided(lambda state: state.decisions[REF].value == 1)
        woken = replace(scale, status=replace(scale.status, hold=waking))
        running.inbox.changed(Kind.WORKER_SCALES, woken)
        running.decided(lambda state: (state.decisions[REF].value or 0) > 1)


def test_a_change_that_fails_ends_nothing() -> None:
    """One impossible change is logged; the next one is taken."""
    with observing() as running:
        running.inbox.changed(Kind.WORKLOADS, make_flavor())
        running.inbox.deleted(Kind.HPAS, "not a pair")
        running.sync()
        running.decided(lambda state: state.decisions[REF].status is Status.OK)


def test_a_decision_that_fails_is_a_hold() -> None:
    """A defect of ours is missing data too: it never scales anything down."""
    broken = make_snapshot(scaled_objects=[make_scaled_object(name="pool", metadata=METADATA)])
    object.__setattr__(broken, "scaled_objects", None)
    decision = decide_safely(snapshot=broken, ref=REF, state=PolicyState(policy=Policy()), now=NOW)
    assert (decision.status, decision.reason) == (Status.HOLD, Reason.INTERNAL)
    assert decision.running


def test_a_decision_that_fails_at_zero_wakes_nothing() -> None:
    """K01: `true` at zero would wake the target, so a defect of ours says nothing there either."""
    asleep = make_snapshot(
        scaled_objects=[make_scaled_object(metadata=METADATA)], targets=[make_target(replicas=0)]
    )
    object.__setattr__(asleep, "queues", None)
    object.__setattr__(asleep, "cluster_queues", None)
    ref = TriggerRef.of(namespace="ml", name="so", metadata=METADATA)
    state = PolicyState(policy=Policy(pools={"gpu": GPU}))
    decision = decide_safely(snapshot=asleep, ref=ref, state=state, now=NOW)
    assert decision.reason is Reason.INTERNAL
    assert (decision.size, decision.running) == (0, False)


class PolicyThatFailsOnce(PolicyScript):
    """A policy source whose first look goes wrong."""

    def poll(self) -> PolicyState | None:
        """Raise the first time."""
        if not self.failed:
            self.failed = True
            raise OSError("gone")
        return super().poll()

    failed = False


def test_a_turn_that_fails_does_not_end_the_observer() -> None:
    """The only thread that decides has to outlive any one turn."""
    with observing(script=PolicyThatFailsOnce()) as running:
        running.sync()
        running.decided(lambda state: state.decisions[REF].status is Status.OK)
