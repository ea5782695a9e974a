"""Ask a running service as KEDA, people and probes do, wherever it runs."""

import json
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from time import monotonic
from typing import Any, Protocol
from urllib.error import HTTPError

import grpc
from prometheus_client.parser import text_string_to_metric_families

from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc

PATIENCE = 180.0
"""Seconds until a condition that should have come true counts as a failure."""
PREFIX = "kueue_gpu_scaler_"
_pause = threading.Event()


def until(condition: Callable[[], bool], *, seen: Callable[[], object] = lambda: "") -> None:
    """Wait until a condition holds; `seen` says in a failure what was there instead."""
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline, f"it never came true; seen: {seen()}"
        _pause.wait(0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What one poll of KEDA's brings for a trigger."""

    active: bool | None
    values: tuple[tuple[int, float], ...] = ()
    """Each as (int field, float field)."""
    code: grpc.StatusCode = grpc.StatusCode.OK

    def __str__(self) -> str:
        return f"{self.code.name} {self.active} {self.values}"


HOLD = Polled(active=True)
"""HOLD while the target runs: active, without a value."""
HOLD_AT_ZERO = Polled(active=None, code=grpc.StatusCode.UNAVAILABLE)


def value(number: int, *, active: bool | None = None) -> Polled:
    """Give what a plain answer of a number is; active where it is above zero, unless told."""
    on = number > 0 if active is None else active
    return Polled(active=on, values=((number, float(number)),))


class _Call(Protocol):
    """The part of a call that is used."""

    def __iter__(self) -> Iterator[pb.IsActiveResponse]: ...

    def cancel(self) -> bool: ...

    def code(self) -> grpc.StatusCode: ...


class Push:
    """One open StreamIsActive; reads in a thread of its own."""

    def __init__(self, call: "_Call") -> None:
        self.results: list[bool] = []
        self.code: grpc.StatusCode | None = None
        """How the stream ended; None while it is open."""
        self._call = call
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(grpc.RpcError):
            for message in self._call:
                self.results.append(message.result)
        self.code = self._call.code()

    def cancel(self) -> None:
        """Hang up."""
        self._call.cancel()
        self._thread.join(PATIENCE)


class Client:
    """Ask a service by its two addresses, wherever it runs."""

    def __init__(
        self,
        *,
        grpc_address: str,
        status_address: str,
        credentials: grpc.ChannelCredentials | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Connect; with credentials, and a context for the status port, over TLS."""
        self.grpc_address = grpc_address
        self.status_url = f"{'https' if context else 'http'}://{status_address}"
        self._context = context
        self._channel = (
            grpc.secure_channel(grpc_address, credentials)
            if credentials
            else grpc.insecure_channel(grpc_address)
        )
        self.stub = pb_grpc.ExternalScalerStub(self._channel)

    def close(self) -> None:
        """Hang up."""
        self._channel.close()

    # --- as KEDA -------------------------------------------------------------------------------

    def spec(self, name: str, metadata: Mapping[str, str]) -> tuple[tuple[str, int, float], ...]:
        """Ask GetMetricSpec: (name, int target, float target) of each."""
        found = self.stub.GetMetricSpec(ref(name, metadata), timeout=PATIENCE).metricSpecs
        return tuple((one.metricName, one.targetSize, one.targetSizeFloat) for one in found)

    def refusal(self, name: str, metadata: Mapping[str, str]) -> tuple[grpc.StatusCode, str]:
        """Give the code and sentence with which GetMetricSpec fails."""
        try:
            self.spec(name, metadata)
        except grpc.RpcError as error:
            return error.code(), error.details() or ""
        return grpc.StatusCode.OK, ""

    def poll(self, name: str, metadata: Mapping[str, str]) -> Polled:
        """Ask GetMetrics, then IsActive; after an error both once more, as KEDA does."""
        for _ in range(2):
            polled = self._poll(ref(name, metadata))
            if polled.code is grpc.StatusCode.OK:
                break
        return polled

    def _poll(self, asked: pb.ScaledObjectRef) -> Polled:
        try:
            metrics = self.stub.GetMetrics(
                pb.GetMetricsRequest(scaledObjectRef=asked), timeout=PATIENCE
            )
            active = self.stub.IsActive(asked, timeout=PATIENCE).result
        except grpc.RpcError as error:
            return Polled(active=None, code=error.code())
        values = tuple((v.metricValue, v.metricValueFloat) for v in metrics.metricValues)
        return Polled(active=active, values=values)

    def push(self, name: str, metadata: Mapping[str, str]) -> Push:
        """Open StreamIsActive."""
        return Push(self.stub.StreamIsActive(ref(name, metadata)))

    def until(self, name: str, metadata: Mapping[str, str], want: Polled) -> None:
        """Poll until the answer is the wanted one."""
        until(
            lambda: self.poll(name, metadata) == want,
            seen=lambda: f"{self.poll(name, metadata)} for {want}; {self.reason(name)}",
        )

    def explained(self, name: str, *words: str) -> None:
        """Wait until a decision's reason and sentence contain all words."""
        until(
            lambda: all(word in self.reason(name) for word in words),
            seen=lambda: self.reason(name),
        )

    # --- as people and machines ----------------------------------------------------------------

    def get(self, path: str) -> tuple[int, str]:
        """Ask the status port: HTTP status and body."""
        try:
            with urllib.request.urlopen(  # noqa: S310 - our own loopback address
                self.status_url + path, timeout=PATIENCE, context=self._context
            ) as response:
                return _whole(response)
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ready(self) -> tuple[bool, str]:
        """Ask /readyz: whether it is, and its details as one text."""
        code, body = self.get("/readyz")
        return code == 200, "\n".join(json.loads(body)["details"])

    def metric(self, name: str, **labels: str) -> float | None:
        """Read one sample of /metrics; None where there is none."""
        full = f"{PREFIX}{name}"
        for family in text_string_to_metric_families(self.get("/metrics")[1]):
            for sample in family.samples:
                if sample.name == full and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return None

    def decision(self, name: str) -> Mapping[str, Any]:
        """Read a ScaledObject's decision from /decisions; empty where there is none."""
        found = json.loads(self.get("/decisions")[1])["decisions"]
        return next((one for one in found if one["name"] == name), {})

    def decided_at(self) -> set[str]:
        """Give the instants of the newest snapshot and of each decision."""
        found = json.loads(self.get("/decisions")[1])
        return {str(one["at"]) for one in (found, *found["decisions"])}

    def reason(self, name: str) -> str:
        """Give reason and sentence of a decision."""
        found = self.decision(name)
        return f"{found['reason']}: {found['evidence']['detail']}" if found else "no decision"


def _whole(response: HTTPResponse) -> tuple[int, str]:
    return response.status, response.read().decode()


def ref(name: str, metadata: Mapping[str, str]) -> pb.ScaledObjectRef:
    """Build what KEDA sends of a ScaledObject in namespace `ml`."""
    return pb.ScaledObjectRef(namespace="ml", name=name, scalerMetadata=metadata)
