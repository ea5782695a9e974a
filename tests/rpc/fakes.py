"""A running gRPC server whose decisions a test sets by hand."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc.aio

from scaler.certificates import Certificates
from scaler.core.decision import Decision, Status
from scaler.core.metadata import metric_name, parse
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import InvalidTrigger, TriggerRef
from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.policyfile import PolicyState
from scaler.rpc.server import Server
from scaler.settings import Address
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.builders import NOW

QUEUE = {"signal": "queue", "clusterQueue": "gpu-cq", "pool": "gpu", "scalerAddress": "x:6000"}


def make_decision(
    ref: TriggerRef,
    *,
    status: Status = Status.OK,
    active: bool | None = None,
    value: int | None = None,
    running: bool = False,
    reason: Reason = Reason.DEMAND,
    detail: str = "as the test says",
) -> Decision:
    """Build a Decision as the observer would publish it."""
    parsed = parse(dict(ref.metadata))
    return Decision(
        namespace=ref.namespace,
        name=ref.name,
        metric="" if isinstance(parsed, InvalidTrigger) else metric_name(parsed),
        status=status,
        active=active,
        value=value,
        reason=reason,
        detail=detail,
        at=NOW,
        running=running,
    )


@dataclass(slots=True)
class Clock:
    """A clock that stands until it is moved, and counts who looks."""

    now: float = NOW
    looks: int = 0

    def __call__(self) -> float:
        """Tell the time."""
        self.looks += 1
        return self.now


@dataclass(kw_only=True)
class Peer:
    """The server, its store, and a client's stub."""

    store: Store
    clock: Clock
    elapsed: Clock
    """What the store tells the age of its State by."""
    server: Server
    telemetry: Telemetry
    port: int
    channel: grpc.aio.Channel
    stub: "pb_grpc.ExternalScalerAsyncStub"
    decided: list[TriggerRef] = field(default_factory=list)

    def ref(self, metadata: Mapping[str, str] = QUEUE) -> TriggerRef:
        """Give the trigger that `request` names."""
        return TriggerRef.of(namespace="ml", name="so", metadata=metadata)

    def request(self, metadata: Mapping[str, str] = QUEUE) -> pb.ScaledObjectRef:
        """Build what KEDA sends."""
        return pb.ScaledObjectRef(namespace="ml", name="so", scalerMetadata=metadata)

    def publish(self, *decisions: Decision, refs: tuple[TriggerRef, ...] = ()) -> None:
        """Publish decisions, each under the trigger that is named beside it."""
        keys = refs or tuple(self.ref() for _ in decisions)
        self.store.publish(
            snapshot=Snapshot(at=NOW),
            policy=self.store.latest().policy,
            decisions=dict(zip(keys, decisions, strict=True)),
            changed=frozenset(keys),
        )

    async def metrics(self, metadata: Mapping[str, str] = QUEUE) -> pb.GetMetricsResponse:
        """Ask GetMetrics."""
        return await self.stub.GetMetrics(
            pb.GetMetricsRequest(scaledObjectRef=self.request(metadata))
        )

    async def active(self, metadata: Mapping[str, str] = QUEUE) -> bool:
        """Ask IsActive."""
        return (await self.stub.IsActive(self.request(metadata))).result


@asynccontextmanager
async def serving(
    *,
    connection_age: float | None = None,
    certificates: Certificates | None = None,
    credentials: grpc.ChannelCredentials | None = None,
) -> AsyncIterator[Peer]:
    """Run a server on a free port, with nothing decided yet; with certificates it speaks TLS."""
    clock = Clock()
    elapsed = Clock(now=0.0)
    store = Store(policy=PolicyState(policy=Policy()), at=NOW, elapsed=elapsed)
    telemetry = Telemetry()
    decided: list[TriggerRef] = []

    def decide(ref: TriggerRef) -> Decision:
        decided.append(ref)
        return make_decision(ref, status=Status.HOLD, reason=Reason.NOT_SYNCED)

    server = Server(
        store=store,
        clock=clock,
        decide=decide,
        address=Address(host="127.0.0.1", port=0),
        telemetry=telemetry,
        connection_age=connection_age,
        certificates=certificates,
    )
    port = await server.start()
    async with channel_to(port, credentials) as channel:
        yield Peer(
            store=store,
            clock=clock,
            elapsed=elapsed,
            server=server,
            telemetry=telemetry,
            port=port,
            channel=channel,
            stub=pb_grpc.ExternalScalerStub(channel),
            decided=decided,
        )
    await server.stop(grace=0.5)


def channel_to(port: int, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    """Give a channel with a connection of its own; without credentials it is plaintext."""
    if credentials is None:
        return grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    alone = (("grpc.use_local_subchannel_pool", 1),)
    return grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options=alone)


async def code_of(call: Callable[[], Awaitable[object]]) -> tuple[grpc.StatusCode, str]:
    """Give the status code and text with which a call fails."""
    try:
        await call()
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""
