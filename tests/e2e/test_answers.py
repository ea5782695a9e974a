"""The stub scaler over a real connection."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import grpc
import pytest

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from tests.e2e.answers import Stub
from tests.e2e.calls import Call, Method, Outcome
from tests.e2e.script import Answers, Ending, Fault, wants
from tests.e2e.waiting import until

REF = pb.ScaledObjectRef(namespace="lab", name="team")
PATIENCE = 10.0


@pytest.fixture
def stub() -> Iterator[Stub]:
    """Run a stub for one test."""
    with Stub() as running:
        yield running


@pytest.fixture
def address(stub: Stub) -> str:
    """Give an address of the stub."""
    return stub.listen()


@pytest.fixture
def client(address: str) -> Iterator[pb_grpc.ExternalScalerStub]:
    """Connect as KEDA does."""
    with grpc.insecure_channel(address) as channel:
        yield pb_grpc.ExternalScalerStub(channel)


def last(stub: Stub, method: Method) -> Call:
    """Give the latest call, once it has ended at the stub's end too."""

    def ended() -> Call | None:
        calls = stub.calls("lab", "team", method)
        return calls[-1] if calls and calls[-1].ended is not None else None

    return until(ended, f"an ended {method}", within=PATIENCE)


def opened(stub: Stub, method: Method) -> None:
    """Wait until a stream is open at the stub's end."""
    until(lambda: stub.calls("lab", "team", method), f"an open {method}", within=PATIENCE)


def test_a_scaler_without_a_script_is_idle_at_zero(client: pb_grpc.ExternalScalerStub) -> None:
    """Scripts may come after the ScaledObject."""
    assert not client.IsActive(REF).result
    values = client.GetMetrics(pb.GetMetricsRequest(scaledObjectRef=REF)).metricValues
    assert [(each.metricValue, each.metricValueFloat) for each in values] == [(0, 0.0)]


def test_the_script_is_what_is_answered(stub: Stub, client: pb_grpc.ExternalScalerStub) -> None:
    """Both fields of each value and target are the script's own."""
    stub.script(
        "lab", "team", Answers(is_active=True, metrics=((5, 2.5), (1, 0.0)), spec=((3, 0.5),))
    )
    asked = pb.GetMetricsRequest(scaledObjectRef=REF, metricName="m")
    values = client.GetMetrics(asked).metricValues
    assert client.IsActive(REF).result
    assert [(each.metricName, each.metricValue, each.metricValueFloat) for each in values] == [
        ("m", 5, 2.5),
        ("m", 1, 0.0),
    ]
    specs = client.GetMetricSpec(REF).metricSpecs
    assert [(each.targetSize, each.targetSizeFloat) for each in specs] == [(3, 0.5)]


def test_a_trigger_may_name_a_script_of_its_own(
    stub: Stub, client: pb_grpc.ExternalScalerStub
) -> None:
    """Two triggers of one ScaledObject are told apart by metadata."""
    stub.script("lab", "second", wants(1))
    second = pb.ScaledObjectRef(namespace="lab", name="team", scalerMetadata={"script": "second"})
    assert client.IsActive(second).result
    assert not client.IsActive(REF).result
    assert [call.method for call in stub.calls("lab", "second")] == [Method.IS_ACTIVE]


def test_an_error_is_unavailable_and_kept_as_such(
    stub: Stub, client: pb_grpc.ExternalScalerStub
) -> None:
    """The log says what the client got."""
    stub.script("lab", "team", Answers(metrics=Fault.ERROR))
    with pytest.raises(grpc.RpcError, match="UNAVAILABLE"):
        client.GetMetrics(pb.GetMetricsRequest(scaledObjectRef=REF), timeout=PATIENCE)
    call = last(stub, Method.METRICS)
    assert call.outcome is Outcome.UNAVAILABLE
    assert call.deadline == pytest.approx(PATIENCE, rel=0.5)


def test_who_hangs_gets_what_the_script_says_by_then(
    stub: Stub, client: pb_grpc.ExternalScalerStub
) -> None:
    """A call without deadline is seen as such, and pending until it is let go."""
    stub.script("lab", "team", Answers(is_active=Fault.HANG))
    answered = client.IsActive.future(REF)
    opened(stub, Method.IS_ACTIVE)
    (call,) = stub.calls("lab", "team")
    assert (call.outcome, call.deadline) == (Outcome.PENDING, None)
    stub.script("lab", "team", wants(1))
    assert answered.result(PATIENCE).result
    assert last(stub, Method.IS_ACTIVE).outcome is Outcome.OK


def test_a_client_that_leaves_is_seen(stub: Stub, client: pb_grpc.ExternalScalerStub) -> None:
    """A deadline that passes ends the call at the stub's end too."""
    stub.script("lab", "team", Answers(is_active=Fault.HANG))
    answered = client.IsActive.future(REF)
    opened(stub, Method.IS_ACTIVE)
    answered.cancel()
    assert last(stub, Method.IS_ACTIVE).outcome is Outcome.CANCELLED


def test_a_stream_says_what_is_pushed_and_ends_as_told(
    stub: Stub, client: pb_grpc.ExternalScalerStub
) -> None:
    """Nothing is said before the first push."""
    stream = client.StreamIsActive(REF)
    opened(stub, Method.STREAM_IS_ACTIVE)
    stub.push("lab", "team", True)
    stub.push("lab", "team", False)
    assert [next(stream).result, next(stream).result] == [True, False]
    stub.end("lab", "team", Ending.OK)
    assert list(stream) == []
    assert last(stub, Method.STREAM_IS_ACTIVE).outcome is Outcome.OK


def test_a_stream_may_be_refused_at_once(stub: Stub, client: pb_grpc.ExternalScalerStub) -> None:
    """Which is how a failing server looks to each new stream."""
    stub.script("lab", "team", Answers(stream=Ending.UNAVAILABLE))
    with pytest.raises(grpc.RpcError):
        next(client.StreamIsActive(REF))
    assert last(stub, Method.STREAM_IS_ACTIVE).outcome is Outcome.UNAVAILABLE


def test_specs_are_streamed_when_they_change(
    stub: Stub, client: pb_grpc.ExternalScalerStub
) -> None:
    """A script with the same spec says nothing; an empty list is said too."""
    answers = Answers(streamed=((2, 2.0),))
    stub.script("lab", "team", answers)
    stream = client.StreamMetricSpec(REF)
    assert [each.targetSize for each in next(stream).metricSpecs] == [2]
    stub.script("lab", "team", replace(answers, is_active=True))
    stub.script("lab", "team", replace(answers, streamed=()))
    assert not next(stream).metricSpecs
    stub.end("lab", "team", Ending.UNAVAILABLE, Method.STREAM_METRIC_SPEC)
    with pytest.raises(grpc.RpcError):
        next(stream)
    assert last(stub, Method.STREAM_METRIC_SPEC).outcome is Outcome.UNAVAILABLE


def test_specs_are_not_streamed_by_default(stub: Stub, client: pb_grpc.ExternalScalerStub) -> None:
    """As scalers built on older protos."""
    with pytest.raises(grpc.RpcError):
        next(client.StreamMetricSpec(REF))
    assert last(stub, Method.STREAM_METRIC_SPEC).outcome is Outcome.UNIMPLEMENTED


def test_an_address_goes_down_and_comes_back(
    stub: Stub, address: str, client: pb_grpc.ExternalScalerStub
) -> None:
    """Streams are cut, other addresses go on, and the same port serves again."""
    other = stub.listen()
    stream = client.StreamIsActive(REF)
    opened(stub, Method.STREAM_IS_ACTIVE)
    assert stub.connections(address) >= 1
    stub.down(address)
    with pytest.raises(grpc.RpcError):
        next(stream)
    assert last(stub, Method.STREAM_IS_ACTIVE).outcome is Outcome.CANCELLED
    with grpc.insecure_channel(other) as channel:
        assert not pb_grpc.ExternalScalerStub(channel).IsActive(REF).result
    stub.up(address)
    assert not client.IsActive(REF, wait_for_ready=True, timeout=PATIENCE).result


def test_calls_are_those_since_a_time(stub: Stub, client: pb_grpc.ExternalScalerStub) -> None:
    """Each by its begin; the time of the last call counts itself."""
    client.IsActive(REF)
    client.GetMetricSpec(REF)
    first, second = stub.calls("lab", "team")
    assert stub.calls("lab", "team", since=second.at) == (second,)
    assert stub.calls("lab", "team", Method.IS_ACTIVE) == (first,)
    assert stub.calls("other", "team") == ()


def test_a_stopped_stub_leaves_no_thread(stub: Stub, address: str) -> None:
    """Even where an address is down, and if it is stopped twice."""
    stub.down(address)
    stub.stop()
    stub.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "stub"]
