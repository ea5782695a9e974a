"""What KEDA gets over a real connection."""

import asyncio
from collections.abc import Awaitable, Callable

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from scaler.core.decision import Decision, Status
from scaler.core.reasons import Reason
from scaler.pb import externalscaler_pb2 as pb
from scaler.rpc.server import SERVICE, Server
from scaler.settings import Address
from tests.rpc.fakes import QUEUE, Clock, Peer, code_of, make_decision, serving

PATIENCE = 60.0
"""A guard against hanging for ever; nothing is measured by it."""


def run(test: Callable[[Peer], Awaitable[None]]) -> None:
    """Run a test against a served peer."""

    async def body() -> None:
        async with serving() as peer:
            await asyncio.wait_for(test(peer), PATIENCE)

    asyncio.run(body())


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until a condition holds."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event to await
        await asyncio.sleep(0)


async def shown(peer: Peer, decision: Decision) -> None:
    """Publish, and wait until the open stream has looked: it asks the time when it does."""
    before = peer.clock.looks
    peer.publish(decision)
    await until(lambda: peer.clock.looks > before)


def test_a_value_is_whole_in_both_fields() -> None:
    """K06: float and int agree, so no KEDA reads another number."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=True, value=3))
        got = (await peer.metrics()).metricValues
        assert [(v.metricValue, v.metricValueFloat) for v in got] == [(3, 3.0)]
        assert await peer.active()

    run(test)


def test_a_zero_is_zero_in_both_fields_and_inactive() -> None:
    """K06: KEDA falls back to the int where the float is not above zero."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=False, value=0))
        got = (await peer.metrics()).metricValues
        assert [(v.metricValue, v.metricValueFloat) for v in got] == [(0, 0.0)]
        assert not await peer.active()

    run(test)


def test_hold_while_something_runs_is_active_without_a_value() -> None:
    """K01, K02: no error and no number; the HPA keeps its size and no cooldown runs."""

    async def test(peer: Peer) -> None:
        peer.publish(
            make_decision(
                peer.ref(), status=Status.HOLD, running=True, reason=Reason.PROMETHEUS_FAILED
            )
        )
        assert len((await peer.metrics()).metricValues) == 0
        assert await peer.active()
        held = peer.telemetry.holds.labels(Reason.PROMETHEUS_FAILED)
        assert held._value.get() == 2

    run(test)


def test_hold_at_zero_is_unavailable_and_names_the_cause() -> None:
    """At zero `true` would wake a node, and a number would be a claim."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), status=Status.HOLD, reason=Reason.NOT_SYNCED))
        for call in (peer.metrics, peer.active):
            code, text = await code_of(call)
            assert code is grpc.StatusCode.UNAVAILABLE
            assert "NotSynced" in text

    run(test)


def test_the_spec_never_changes_and_needs_nothing() -> None:
    """K04: with nothing synced, five times and after a restart, the same single spec."""
    answers: list[pb.GetMetricSpecResponse] = []

    async def test(peer: Peer) -> None:
        answers.extend([await peer.stub.GetMetricSpec(peer.request()) for _ in range(5)])
        assert peer.decided == []

    run(test)
    run(test)
    assert len(answers) == 10
    assert all(answer == answers[0] for answer in answers)
    (spec,) = answers[0].metricSpecs
    assert (spec.targetSize, spec.targetSizeFloat) == (1, 1.0)
    assert spec.metricName


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        pytest.param({}, ["signal"], id="nothing given"),
        pytest.param({"signal": "queue"}, ["clusterQueue", "pool", "gpusPerNode"], id="bare queue"),
        pytest.param(
            QUEUE | {"clusterqueue": "x", "poolFromEnv": "y", "gpusPerNode": "eight"},
            ["clusterqueue", "poolFromEnv", "gpusPerNode"],
            id="a typo, a FromEnv key and a bad number at once",
        ),
    ],
)
def test_malformed_metadata_is_refused_with_every_bad_key(
    metadata: dict[str, str], named: list[str]
) -> None:
    """K05, K08: KEDA then builds no HPA; the event names all that has to be mended."""

    async def test(peer: Peer) -> None:
        code, text = await code_of(lambda: peer.stub.GetMetricSpec(peer.request(metadata)))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert [key for key in named if key not in text] == []

    run(test)


def test_a_trigger_that_nobody_decided_yet_is_decided_at_once() -> None:
    """The first poll may come before the watch has seen the ScaledObject."""

    async def test(peer: Peer) -> None:
        code, _ = await code_of(peer.metrics)
        assert code is grpc.StatusCode.UNAVAILABLE
        assert peer.decided == [peer.ref()]
        assert peer.store.asked(since=0.0) == (peer.ref(),)

    run(test)


def test_is_active_of_a_poll_is_the_decision_of_its_metrics() -> None:
    """A publication between the two calls must not make them disagree."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=True, value=2))
        await peer.metrics()
        peer.publish(make_decision(peer.ref(), active=False, value=2))
        assert await peer.active()
        peer.clock.now += 2
        assert not await peer.active()

    run(test)


@pytest.mark.parametrize("running", [True, False])
def test_the_last_decision_is_no_answer_once_nobody_decides_any_more(*, running: bool) -> None:
    """K01: an IDLE of an observer that hangs may be a busy workload by now."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=False, value=2, running=running))
        peer.elapsed.now += 60
        assert not await peer.active()
        peer.elapsed.now += 1
        code, _ = await code_of(peer.metrics)
        if running:
            assert await peer.active()
            assert not (await peer.metrics()).metricValues
        else:
            assert code is grpc.StatusCode.UNAVAILABLE
        peer.publish(make_decision(peer.ref(), active=False, value=2, running=running))
        assert (await peer.metrics()).metricValues

    run(test)


def test_the_push_stream_sends_edges_only_and_never_false() -> None:
    """K03: a repeated true would reset the cooldown, a false deactivated old KEDA at once."""

    async def test(peer: Peer) -> None:
        stream = peer.stub.StreamIsActive(peer.request())
        await until(lambda: peer.server.streams == 1)
        for active, value in ((False, 0), (True, 1), (True, 2), (False, 2), (True, 3)):
            await shown(peer, make_decision(peer.ref(), active=active, value=value))
        await peer.server.stop(grace=1.0)
        assert [message.result async for message in stream] == [True, True]

    run(test)


def test_hold_sends_nothing_on_the_push_stream() -> None:
    """Unknown is neither an activation nor the end of one."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=True, value=1))
        stream = peer.stub.StreamIsActive(peer.request())
        await until(lambda: peer.clock.looks > 0)
        await shown(peer, make_decision(peer.ref(), status=Status.HOLD, running=True))
        await shown(peer, make_decision(peer.ref(), active=True, value=1))
        await peer.server.stop(grace=1.0)
        assert [message.result async for message in stream] == [True]

    run(test)


def test_missing_pods_wake_nothing_on_the_push_stream() -> None:
    """Pods that go before the size is seen to be zero look like missing ones for a moment."""

    async def test(peer: Peer) -> None:
        stream = peer.stub.StreamIsActive(peer.request())
        await until(lambda: peer.server.streams == 1)
        starting = make_decision(peer.ref(), active=True, value=4, reason=Reason.STARTING)
        await shown(peer, make_decision(peer.ref(), active=False, value=4, reason=Reason.IDLE))
        await shown(peer, starting)
        assert await peer.active()
        await shown(peer, make_decision(peer.ref(), active=False, value=0, reason=Reason.AT_ZERO))
        await peer.server.stop(grace=1.0)
        assert [message.result async for message in stream] == []

    run(test)


def test_a_wake_is_pushed_once_through_the_start_of_its_pods() -> None:
    """What is told on waking is not told again when the pods are there."""

    async def test(peer: Peer) -> None:
        stream = peer.stub.StreamIsActive(peer.request())
        await until(lambda: peer.server.streams == 1)
        for reason in (Reason.WAKE, Reason.STARTING, Reason.BUSY):
            await shown(peer, make_decision(peer.ref(), active=True, value=4, reason=reason))
        await peer.server.stop(grace=1.0)
        assert [message.result async for message in stream] == [True]

    run(test)


def test_an_active_target_is_told_on_opening() -> None:
    """What became active during a gap must not wait for the next poll."""

    async def test(peer: Peer) -> None:
        peer.publish(make_decision(peer.ref(), active=True, value=1))
        stream = peer.stub.StreamIsActive(peer.request())
        first = await stream.read()
        assert isinstance(first, pb.IsActiveResponse)
        assert first.result
        stream.cancel()

    run(test)


def test_streams_end_with_ok_when_the_server_stops() -> None:
    """KEDA is back two seconds after an OK, up to a minute after anything else."""

    async def test(peer: Peer) -> None:
        pushes = [peer.stub.StreamIsActive(peer.request()) for _ in range(20)]
        specs = peer.stub.StreamMetricSpec(peer.request())
        assert isinstance(await specs.read(), pb.GetMetricSpecResponse)
        await until(lambda: peer.server.streams == 21)
        await peer.server.stop(grace=1.0)
        codes = {await stream.code() for stream in pushes} | {await specs.code()}
        assert codes == {grpc.StatusCode.OK}

    run(test)


def test_malformed_metadata_streams_no_spec_and_no_activity() -> None:
    """An empty list must never be streamed; silence leaves KEDA to GetMetricSpec's error."""

    async def test(peer: Peer) -> None:
        specs = peer.stub.StreamMetricSpec(peer.request({}))
        push = peer.stub.StreamIsActive(peer.request({}))
        await until(lambda: peer.server.streams == 2)
        await peer.server.stop(grace=1.0)
        assert [message async for message in specs] == []
        assert [message async for message in push] == []

    run(test)


def test_two_hundred_streams_starve_no_poll_and_leave_nothing_behind() -> None:
    """K14: unary calls answer while all stay open; after a cancel the count is zero again."""

    async def test(peer: Peer) -> None:
        streams = [peer.stub.StreamIsActive(peer.request()) for _ in range(200)]
        await until(lambda: peer.server.streams == 200)
        peer.publish(make_decision(peer.ref(), active=True, value=1))
        assert await peer.active()
        assert not any(stream.done() for stream in streams)
        for stream in streams:
            stream.cancel()
        await until(lambda: peer.server.streams == 0)

    run(test)


def test_all_streams_may_open_in_one_moment() -> None:
    """KEDA opens them so after a restart; gRPC's own bound would cancel some of them at random."""

    async def test(peer: Peer) -> None:
        calls = [peer.stub.StreamIsActive(peer.request()) for _ in range(2_000)]
        await until(lambda: peer.server.streams == len(calls) or any(c.done() for c in calls))
        assert [call for call in calls if call.done()] == []
        for call in calls:
            call.cancel()
        await until(lambda: peer.server.streams == 0)

    run(test)


def test_health_serves_until_the_end() -> None:
    """The standard health service is what liveness asks."""

    async def test(peer: Peer) -> None:
        health = health_pb2_grpc.HealthStub(peer.channel)
        for service in ("", SERVICE):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING

    run(test)


def test_reflection_lists_the_service() -> None:
    """A tool such as grpcurl needs no proto file."""

    async def test(peer: Peer) -> None:
        stub = reflection_pb2_grpc.ServerReflectionStub(peer.channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        async for answer in stub.ServerReflectionInfo(iter([request])):
            names = {service.name for service in answer.list_services_response.service}
            assert "externalscaler.ExternalScaler" in names
            return

    run(test)


def test_a_port_in_use_is_one_sentence() -> None:
    """Two servers on one port would share its connections unseen."""

    async def test(peer: Peer) -> None:
        second = Server(
            store=peer.store,
            clock=Clock(),
            decide=make_decision,
            address=Address(host="127.0.0.1", port=peer.port),
            telemetry=peer.telemetry,
        )
        with pytest.raises(OSError, match=f"can't listen on 127.0.0.1:{peer.port}"):
            await second.start()

    run(test)
