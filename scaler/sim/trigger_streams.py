"""KEDA's two streams of one external-push trigger, opened anew with a growing delay."""

import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import grpc

from scaler.pb import externalscaler_pb2 as pb
from scaler.sim.clock import Clock
from scaler.sim.trigger_calls import TriggerCalls

FIRST_DELAY = 2.0
LONGEST_DELAY = 60.0


class _Call(Protocol):
    """A stream under way."""

    def __iter__(self) -> Iterator[pb.IsActiveResponse | pb.GetMetricSpecResponse]: ...

    def cancel(self) -> object:
        """End it from this side."""
        ...


class Stream:
    """Keep one server stream open in a thread of its own.

    The delay before the next attempt doubles, and only an end with OK resets it; `forgiving`
    streams reset it with each message too.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        name: str,
        connect: Callable[[], _Call],
        receive: Callable[[pb.IsActiveResponse | pb.GetMetricSpecResponse], None],
        forgiving: bool = False,
    ) -> None:
        self._clock = clock
        self._connect = connect
        self._receive = receive
        self._forgiving = forgiving
        self._lock = threading.Lock()
        self._call: _Call | None = None
        self._ended = False
        self.delays: list[float] = []
        """Every delay so far, in cluster seconds."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Open the stream."""
        self._thread.start()

    def cut(self) -> None:
        """Drop the connection under the stream; it comes back after its delay."""
        with self._lock:
            call = self._call
        if call is not None:
            call.cancel()

    def end(self) -> None:
        """Leave for good."""
        self._ended = True
        self.cut()

    def _run(self) -> None:
        delay = FIRST_DELAY
        while not self._ended:
            code, heard = self._follow()
            if code is grpc.StatusCode.UNIMPLEMENTED or self._ended:
                return
            if code is grpc.StatusCode.OK or (heard and self._forgiving):
                delay = FIRST_DELAY
            self.delays.append(delay)
            if not self._clock.sleep_until(self._clock.now() + delay):
                return
            delay = min(LONGEST_DELAY, delay * 2)

    def _follow(self) -> tuple[grpc.StatusCode, bool]:
        """Read one stream to its end; say how it ended, and whether it said anything."""
        heard = False
        try:
            call = self._connect()
        except ValueError:  # grpc's word for a channel that was closed meanwhile
            return grpc.StatusCode.CANCELLED, heard
        with self._lock:
            self._call = call
        if self._ended:
            call.cancel()
        try:
            for message in call:
                heard = True
                self._receive(message)
        except grpc.RpcError as error:
            return error.code(), heard
        return grpc.StatusCode.OK, heard


def streams_of(
    calls: TriggerCalls, *, clock: Clock, on_active: Callable[[], None]
) -> tuple[Stream, ...]:
    """Make the streams of a trigger; a pushed `false` is ignored, as KEDA does."""
    if not calls.pushes:
        return ()

    def activity(message: pb.IsActiveResponse | pb.GetMetricSpecResponse) -> None:
        if isinstance(message, pb.IsActiveResponse) and message.result:
            on_active()

    def specs(message: pb.IsActiveResponse | pb.GetMetricSpecResponse) -> None:
        if isinstance(message, pb.GetMetricSpecResponse):
            calls.take_streamed(message.metricSpecs)

    name = f"{calls.reference.namespace}/{calls.reference.name}"
    return (
        Stream(
            clock=clock,
            name=f"sim-keda-push {name}",
            connect=lambda: calls.stub.StreamIsActive(calls.reference),
            receive=activity,
        ),
        Stream(
            clock=clock,
            name=f"sim-keda-spec {name}",
            connect=lambda: calls.stub.StreamMetricSpec(calls.reference),
            receive=specs,
            forgiving=True,
        ),
    )
