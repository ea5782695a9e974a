"""A scaler whose answers a test sets, on a real gRPC server."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent import futures

import grpc

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc


class StubScaler(pb_grpc.ExternalScalerServicer):
    """Answer what the fields say, count the calls, and let the test hold one up."""

    def __init__(self) -> None:
        self.active = False
        self.values: list[tuple[int, float]] = [(0, 0.0)]
        self.targets: list[tuple[int, float]] = [(1, 1.0)]
        self.failing: set[str] = set()
        self.streamed: list[tuple[int, float]] | None = None
        self.calls: Counter[str] = Counter()
        self.requests: list[object] = []
        self.called = threading.Condition()
        self.on_metrics: Callable[[], None] = lambda: None
        self.pushes: list[bool] = []
        self.end_with: grpc.StatusCode | None = None
        self.streams = 0
        self._workers = futures.ThreadPoolExecutor(max_workers=16)
        self._server = grpc.server(self._workers)
        pb_grpc.add_ExternalScalerServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def address(self) -> str:
        """Give host and port."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Serve."""
        self._server.start()

    def stop(self) -> None:
        """End every stream and the server."""
        self.tell(lambda: setattr(self, "end_with", grpc.StatusCode.OK))
        self._server.stop(grace=None).wait()
        self._workers.shutdown()

    def tell(self, change: Callable[[], None]) -> None:
        """Change what is answered, and let open streams see it."""
        with self.called:
            change()
            self.called.notify_all()

    def wait(self, reached: Callable[[], bool]) -> bool:
        """Wait until something is true of the calls; False after ten seconds."""
        with self.called:
            return self.called.wait_for(reached, timeout=10)

    def GetMetricSpec(  # noqa: N802 - the proto's name
        self, request: pb.ScaledObjectRef, context: grpc.ServicerContext
    ) -> pb.GetMetricSpecResponse:
        """Answer with the targets."""
        self._enter("GetMetricSpec", request, context)
        return _specs(self.targets)

    def GetMetrics(  # noqa: N802 - the name of the RPC
        self, request: pb.GetMetricsRequest, context: grpc.ServicerContext
    ) -> pb.GetMetricsResponse:
        """Answer with the values, after whatever the test does in between."""
        self.on_metrics()
        self._enter("GetMetrics", request, context)
        values = [
            pb.MetricValue(metricName=request.metricName, metricValue=i, metricValueFloat=f)
            for i, f in self.values
        ]
        return pb.GetMetricsResponse(metricValues=values)

    def IsActive(  # noqa: N802 - the name of the RPC
        self, request: pb.ScaledObjectRef, context: grpc.ServicerContext
    ) -> pb.IsActiveResponse:
        """Answer with the activity."""
        self._enter("IsActive", request, context)
        return pb.IsActiveResponse(result=self.active)

    def StreamIsActive(  # noqa: N802 - the name of the RPC
        self, request: pb.ScaledObjectRef, context: grpc.ServicerContext
    ) -> Iterator[pb.IsActiveResponse]:
        """Send each push once, then end as the test says."""
        self._enter("StreamIsActive", request, context)
        self.tell(lambda: setattr(self, "streams", self.streams + 1))
        context.add_callback(lambda: self.tell(lambda: None))
        while context.is_active():
            with self.called:
                self.called.wait_for(
                    lambda: self.pushes or self.end_with or not context.is_active()
                )
                pushes, self.pushes = self.pushes, []
                end, self.end_with = self.end_with, None
            yield from (pb.IsActiveResponse(result=push) for push in pushes)
            if end is grpc.StatusCode.OK:
                return
            if end is not None:
                context.abort(end, "as the test says")

    def StreamMetricSpec(  # noqa: N802 - the name of the RPC
        self, request: pb.ScaledObjectRef, context: grpc.ServicerContext
    ) -> Iterator[pb.GetMetricSpecResponse]:
        """Send one spec and stay open, or be unimplemented."""
        self._enter("StreamMetricSpec", request, context)
        if self.streamed is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no such stream")
        yield _specs(self.streamed)
        context.add_callback(lambda: self.tell(lambda: None))
        with self.called:
            self.called.wait_for(lambda: not context.is_active())

    def _enter(self, name: str, request: object, context: grpc.ServicerContext) -> None:
        with self.called:
            self.calls[name] += 1
            self.requests.append(request)
            self.called.notify_all()
        if name in self.failing:
            context.abort(grpc.StatusCode.UNAVAILABLE, "as the test says")


def _specs(targets: list[tuple[int, float]]) -> pb.GetMetricSpecResponse:
    return pb.GetMetricSpecResponse(
        metricSpecs=[
            pb.MetricSpec(metricName="gpu", targetSize=i, targetSizeFloat=f) for i, f in targets
        ]
    )
