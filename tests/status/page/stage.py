"""A status port on a stage: decisions that tests publish, at times that they choose."""

import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from scaler.core.decision import (
    ClassCount,
    Decision,
    DeviceEvidence,
    EffectiveValue,
    IdleEvidence,
    PoolEvidence,
    QueueEvidence,
    Status,
    Verdict,
)
from scaler.core.model import Instant, Kind, Name, ScaledObject, SourceState, TargetRef
from scaler.core.policy import Policy, Pool, PrometheusSettings
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import TriggerRef
from scaler.policyfile import PolicyState
from scaler.prometheus.series import Matrix
from scaler.prometheus.vector import QueryFailedError
from scaler.settings import Address
from scaler.status.metrics import register
from scaler.status.page.past import Past, Server
from scaler.status.server import StatusServer
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW, make_scaled_object

GPU = "nvidia.com/gpu"
POOLS = {
    name: Pool(
        name=name,
        node_selector=(("pool", name),),
        node=((GPU, 8), ("cpu", 188000)),
        max_nodes=most,
    )
    for name, most in (("a100", 10), ("h100", 4))
}
POLICY = Policy(pools=POOLS)

_IDLE_REASONS = {
    Reason.IDLE: Verdict.IDLE,
    Reason.AT_ZERO: Verdict.IDLE,
    Reason.DRY_RUN: Verdict.IDLE,
    Reason.BUSY: Verdict.BUSY,
    Reason.STARTING: Verdict.BUSY,
}


def queue_decision(
    name: str = "a100-pool",
    *,
    namespace: str = "gpu-nodes",
    value: int | None = 3,
    reason: Reason = Reason.DEMAND,
    at: Instant = NOW,
    pool: PoolEvidence | None = None,
    detail: str = "2 more nodes are needed",
) -> Decision:
    """Build the Decision of a node pool; without a value it is UNKNOWN."""
    return Decision(
        namespace=namespace,
        name=name,
        metric=f"queue-{name}",
        status=Status.HOLD if value is None else Status.OK,
        active=None if value is None else value > 0,
        value=value,
        reason=reason,
        detail=detail,
        at=at,
        size=1,
        running=True,
        queue=QueueEvidence(
            classes=(
                ClassCount(cluster_queue="research", workload_class="A", workloads=2, gpus=16),
                ClassCount(cluster_queue="research", workload_class="D", workloads=5, gpus=40),
            ),
            counted=(
                ClassCount(cluster_queue="research", workload_class="A", workloads=2, gpus=16),
            ),
            pool=pool or pool_evidence(),
        ),
    )


def pool_evidence(
    pool: str = "a100", *, new: int = 2, most: int = 10, capped: bool = False
) -> PoolEvidence:
    """Build a pool of two nodes, one of which is coming."""
    return PoolEvidence(
        pool=pool,
        present=2,
        usable=1,
        coming=1,
        broken=0,
        new=new,
        empty=0,
        spare=0,
        max_nodes=most,
        size=1,
        capped=capped,
    )


def idle_decision(
    name: str = "llm",
    *,
    namespace: str = "team-chat",
    reason: Reason = Reason.BUSY,
    at: Instant = NOW,
    held: bool = False,
    detail: str = "GPU-0 was at 63.0 % 12 s ago",
    pods: tuple[str, ...] = ("llm-0",),
) -> Decision:
    """Build the Decision of a workload; `held` makes it UNKNOWN."""
    verdict = Verdict.UNKNOWN if held else _IDLE_REASONS[reason]
    return Decision(
        namespace=namespace,
        name=name,
        metric=f"idle-{name}",
        status=Status.HOLD if held else Status.OK,
        active=None if held else verdict is Verdict.BUSY,
        value=None if held else 1,
        reason=reason,
        detail=detail,
        at=at,
        size=1,
        running=True,
        idle=IdleEvidence(
            workload=f"Deployment/{name}",
            component="",
            verdict=verdict,
            pods=pods,
            gpus_requested=len(pods),
            devices=tuple(
                DeviceEvidence(
                    device=f"GPU-{number}",
                    pods=(pod,),
                    peak_percent=63.0,
                    signal="gr_engine_active",
                    samples=60,
                    sample_age_seconds=12.0,
                )
                for number, pod in enumerate(pods)
            ),
            physical_gpus=len(pods),
            idle_seconds=12.0,
            idle_after_seconds=1800.0,
        ),
        effective=(
            EffectiveValue(key="idleAfter", value="30m", rule="defaults"),
            EffectiveValue(key="busyFromPercent", value="5", rule="kinds.Deployment"),
            EffectiveValue(key="graceAfterStart", value="10m", rule="built-in"),
            EffectiveValue(key="dryRun", value="false", rule="built-in"),
        ),
    )


def ref_of(decision: Decision) -> TriggerRef:
    """Give the trigger of a Decision; its metadata say no more than its signal."""
    signal = "queue" if decision.queue is not None else "idle"
    return TriggerRef.of(
        namespace=decision.namespace, name=decision.name, metadata={"signal": signal}
    )


def scaled_objects(decisions: Iterable[Decision]) -> Mapping[Name, ScaledObject]:
    """Build the ScaledObjects that have these triggers, on a Deployment of the same name."""
    found = (
        make_scaled_object(
            namespace=one.namespace,
            name=one.name,
            target=TargetRef(name=one.name),
            metadata=dict(ref_of(one).metadata),
        )
        for one in decisions
    )
    return {one.key: one for one in found}


@dataclass(slots=True)
class FakePrometheus:
    """Answer subqueries by what their text holds; as the real one, it may fail or be slow."""

    answers: dict[str, Matrix] = field(default_factory=dict)
    """Matrix by a piece of the expression."""
    asked: list[str] = field(default_factory=list)
    problem: QueryFailedError | None = None
    closed: int = 0

    def raw(self, expression: str, *, at: Instant) -> Matrix:
        """Answer, or fail."""
        del at
        self.asked.append(expression)
        if self.problem is not None:
            raise self.problem
        return next(
            (found for piece, found in self.answers.items() if piece in expression), Matrix()
        )

    def close(self) -> None:
        """Count it."""
        self.closed += 1


@dataclass(slots=True)
class Stage:
    """A running status port; `now` is the service's clock."""

    store: Store
    server: StatusServer
    prometheus: FakePrometheus
    clock: list[Instant]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.port}/"

    def publish(
        self,
        *decisions: Decision,
        at: Instant = NOW,
        changed: Sequence[Decision] | None = None,
        **parts: object,
    ) -> None:
        """Publish these decisions, all of them changed unless said otherwise."""
        self.clock[0] = at
        usual = {
            "sources": {kind: SourceState(synced=True, last_alive=at) for kind in Kind},
            "scaled_objects": scaled_objects(decisions),
        }
        self.store.publish(
            snapshot=Snapshot(at=at, **(usual | parts)),  # type: ignore[arg-type] # a Snapshot's
            policy=self.store.latest().policy,
            decisions={ref_of(one): one for one in decisions},
            changed=frozenset(map(ref_of, decisions if changed is None else changed)),
        )

    def get(self, path: str = "", **headers: str) -> tuple[int, Mapping[str, str], str]:
        """Give status, headers and body."""
        request = urllib.request.Request(self.url + path, headers=headers)  # noqa: S310 # loopback
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 # loopback
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read().decode()


@contextmanager
def stage(
    *,
    policy: Policy = POLICY,
    prometheus: FakePrometheus | None = None,
    connect: Callable[[PrometheusSettings], Server] | None = None,
    clock: Callable[[], Instant] | None = None,
    metrics: bool = False,
) -> Iterator[Stage]:
    """Run a status port on a free port, with nothing published yet.

    Its clock is the time of the newest publication, but where one is given.
    """
    published = [NOW]
    now = clock or (lambda: published[0])
    double = prometheus or FakePrometheus()
    store = Store(policy=PolicyState(policy=policy, hot=True), at=NOW)
    past = Past(
        store=store,
        clock=now,
        connect=connect or (lambda _: double),
        rest_seconds=0.0,
    )
    server = StatusServer(
        store=store,
        registry=register(telemetry=Telemetry(), store=store, clock=now)
        if metrics
        else CollectorRegistry(),
        clock=now,
        address=Address(host="127.0.0.1", port=0),
        past=past,
    )
    server.start()
    try:
        yield Stage(store=store, server=server, prometheus=double, clock=published)
    finally:
        server.stop()
