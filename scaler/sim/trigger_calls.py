"""What KEDA's client asks of one trigger's scaler, and what it makes of the answers."""

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import grpc

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.sim.scaledobject import Spec

Answer = TypeVar("Answer")
CHANNEL_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
"""Reconnecting takes wall time, and this cluster's clock is faster."""


class CallFailedError(Exception):
    """The scaler answered with an error, or with nothing that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A MetricSpec: the plain name, and what one replica is to carry."""

    name: str
    per_replica: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One metric: its value (None where none came) and whether the trigger is active."""

    target: Target
    value: float | None
    active: bool


class TriggerCalls:
    """The client of one trigger; the lock guards the streamed spec."""

    def __init__(self, *, spec: Spec, index: int, channel: grpc.Channel) -> None:
        metadata = spec.triggers[index]["metadata"]
        self.address: str = metadata["scalerAddress"]
        self.pushes: bool = spec.triggers[index]["type"] == "external-push"
        self.reference = pb.ScaledObjectRef(
            namespace=spec.name[0], name=spec.name[1], scalerMetadata=metadata
        )
        self.stub = pb_grpc.ExternalScalerStub(channel)
        self._lock = threading.Lock()
        self._streamed: tuple[Target, ...] = ()

    def take_streamed(self, specs: Iterable[pb.MetricSpec]) -> None:
        """Use a streamed spec instead of asking; an empty one is ignored."""
        targets = _targets(specs)
        with self._lock:
            self._streamed = targets or self._streamed

    def targets(self, *, timeout: float | None) -> tuple[Target, ...]:
        """Give the specs: the streamed ones, else asked for, once more where that fails.

        Raises:
            CallFailedError: an error or an empty list twice.
        """
        with self._lock:
            if self._streamed:
                return self._streamed
        return _twice(lambda: self._ask_targets(timeout))

    def read(self, targets: Iterable[Target], *, timeout: float | None) -> tuple[Answered, ...]:
        """Ask for each metric's value and then for the activity, both once more on an error.

        Raises:
            CallFailedError: an error twice; a streamed spec is forgotten.
        """
        try:
            return tuple([_twice(partial(self._ask, target, timeout)) for target in targets])
        except CallFailedError:
            with self._lock:
                self._streamed = ()
            raise

    def _ask_targets(self, timeout: float | None) -> tuple[Target, ...]:
        answer = self.stub.GetMetricSpec(self.reference, timeout=timeout)
        targets = _targets(answer.metricSpecs)
        if not targets:
            raise CallFailedError("got empty metric spec")
        return targets

    def _ask(self, target: Target, timeout: float | None) -> Answered:
        request = pb.GetMetricsRequest(scaledObjectRef=self.reference, metricName=target.name)
        values = self.stub.GetMetrics(request, timeout=timeout).metricValues
        active = self.stub.IsActive(self.reference, timeout=timeout).result
        total = sum(value_of(v.metricValueFloat, v.metricValue) for v in values)
        return Answered(target=target, value=total if values else None, active=active)


def value_of(real: float, whole: int) -> float:
    """Choose between the two fields as KEDA does: no number ever is negative or infinite."""
    chosen = real if real > 0 else whole
    if math.isinf(chosen) or chosen < 0:
        return 0.0
    return round(chosen, 3)


def _targets(specs: Iterable[pb.MetricSpec]) -> tuple[Target, ...]:
    targets = []
    for spec in specs:
        size = value_of(spec.targetSizeFloat, spec.targetSize)
        if size <= 0:
            raise CallFailedError(f"the target of {spec.metricName} is not above zero")
        targets.append(Target(name=spec.metricName, per_replica=size))
    return tuple(targets)


def _twice(ask: Callable[[], Answer]) -> Answer:
    try:
        return _once(ask)
    except CallFailedError:
        return _once(ask)


def _once(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except grpc.RpcError as error:
        raise CallFailedError(str(error.code())) from error
    except ValueError as error:  # grpc's word for a channel that was closed meanwhile
        raise CallFailedError(str(error)) from error
