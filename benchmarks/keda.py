"""Ask as KEDA does: the messages of one trigger."""

from benchmarks import objects
from benchmarks.objects import Fleet
from scaler.pb import externalscaler_pb2 as pb


def reference(fleet: Fleet, queue: int) -> pb.ScaledObjectRef:
    """Give KEDA's reference to a queue's trigger."""
    return pb.ScaledObjectRef(
        name=f"nodes-{queue:04}",
        namespace=fleet.namespace(queue),
        scalerMetadata=objects.metadata(queue),
    )


def question(fleet: Fleet, queue: int) -> pb.GetMetricsRequest:
    """Give the question for a queue's metric; its name is not looked at."""
    return pb.GetMetricsRequest(scaledObjectRef=reference(fleet, queue), metricName="s0-nodes")
