"""The five RPCs: metadata in, cached Decision out."""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import grpc.aio
import structlog

from scaler.core.decision import Answer, Decision, Status, Unavailable, answer
from scaler.core.metadata import metric_name, parse
from scaler.core.model import Instant
from scaler.core.reasons import Reason
from scaler.core.trigger import InvalidTrigger, TriggerRef
from scaler.pb import externalscaler_pb2 as pb
from scaler.pb import externalscaler_pb2_grpc as pb_grpc
from scaler.rpc import answers
from scaler.rpc.watches import Watches
from scaler.store import STALE_SECONDS, Store
from scaler.telemetry import Telemetry

if TYPE_CHECKING:
    # Generic for type checkers alone: at run time the class takes no parameters.
    from grpc.aio import ServicerContext as Context

ONE_POLL_SECONDS = 1.0
"""KEDA asks IsActive right after GetMetrics; so close together both get the same Decision."""

log = structlog.get_logger(__name__)


MAX_KNOWN = 20_000
"""Metric names kept in memory."""

LARGEST_KEPT = 2_048
"""Characters of metadata; the few triggers with more are parsed each time."""

LONGEST_MESSAGE = 6_000
"""Characters as gRPC encodes them. From 8 kB of headers on a client may answer itself, with
RESOURCE_EXHAUSTED, in place of what was said."""

_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
"""What a status message holds as it is; every other byte becomes three characters."""

_HALF_BYTE = re.compile("%[0-9A-F]?$")


@lru_cache(maxsize=MAX_KNOWN)
def _known_metric(ref: TriggerRef) -> str | InvalidTrigger:
    trigger = parse(dict(ref.metadata))
    return trigger if isinstance(trigger, InvalidTrigger) else metric_name(trigger)


def metric_of(ref: TriggerRef) -> str | InvalidTrigger:
    """Give a trigger's metric name, or what is wrong with its metadata: neither ever changes."""
    small = sum(len(key) + len(value) for key, value in ref.metadata) <= LARGEST_KEPT
    return _known_metric(ref) if small else _known_metric.__wrapped__(ref)


def cut(message: str) -> str:
    """Shorten a status message to what arrives at any client."""
    encoded = quote(message, safe=_PLAIN)
    if len(encoded) <= LONGEST_MESSAGE:
        return message
    whole = _HALF_BYTE.sub("", encoded[:LONGEST_MESSAGE])
    return unquote(whole, errors="ignore") + " ..."


def ref_of(request: pb.ScaledObjectRef) -> TriggerRef:
    """Read KEDA's reference to a trigger."""
    return TriggerRef.of(
        namespace=request.namespace, name=request.name, metadata=request.scalerMetadata
    )


class Servicer(pb_grpc.ExternalScalerServicer):
    """Answer KEDA; everything in here belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        store: Store,
        watches: Watches,
        clock: Callable[[], Instant],
        decide: Callable[[TriggerRef], Decision],
        telemetry: Telemetry,
    ) -> None:
        self._telemetry = telemetry
        self._store = store
        self._watches = watches
        self._clock = clock
        self._decide = decide
        self._polled: OrderedDict[TriggerRef, tuple[Instant, Decision]] = OrderedDict()
        self._refused: set[int] = set()

    def _tell_refused(self, ref: TriggerRef, problems: str) -> None:
        """Log a malformed trigger once, and not again each time that KEDA asks for it."""
        told = hash((ref.namespace, ref.name, problems))
        if told in self._refused:
            return
        if len(self._refused) >= MAX_KNOWN:
            self._refused.clear()
        self._refused.add(told)
        log.warning(
            "trigger refused", namespace=ref.namespace, scaled_object=ref.name, problems=problems
        )

    async def GetMetricSpec(
        self,
        request: pb.ScaledObjectRef,
        context: "Context[pb.ScaledObjectRef, pb.GetMetricSpecResponse]",
    ) -> pb.GetMetricSpecResponse:
        """Give the spec; malformed metadata is INVALID_ARGUMENT with every problem."""
        metric = metric_of(ref_of(request))
        if isinstance(metric, InvalidTrigger):
            problems = cut("; ".join(str(problem) for problem in metric.problems))
            self._tell_refused(ref_of(request), problems)
            self._telemetry.answers.labels("GetMetricSpec", Status.INVALID).inc()
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, problems)
        self._telemetry.answers.labels("GetMetricSpec", Status.OK).inc()
        return answers.spec(metric)

    async def GetMetrics(
        self,
        request: pb.GetMetricsRequest,
        context: "Context[pb.GetMetricsRequest, pb.GetMetricsResponse]",
    ) -> pb.GetMetricsResponse:
        """Give the value of the cached Decision, or HOLD."""
        ref = ref_of(request.scaledObjectRef)
        decision = self._current(ref)
        self._remember(ref, decision)
        found = self._answer("GetMetrics", decision)
        if isinstance(found, Unavailable):
            await context.abort(grpc.StatusCode.UNAVAILABLE, cut(found.message))
        return answers.metrics(found, metric=decision.metric or request.metricName)

    async def IsActive(
        self,
        request: pb.ScaledObjectRef,
        context: "Context[pb.ScaledObjectRef, pb.IsActiveResponse]",
    ) -> pb.IsActiveResponse:
        """Give the activity of the Decision that GetMetrics of the same poll answered."""
        ref = ref_of(request)
        found = self._answer("IsActive", self._of_poll(ref) or self._current(ref))
        if isinstance(found, Unavailable):
            await context.abort(grpc.StatusCode.UNAVAILABLE, cut(found.message))
        return answers.is_active(found)

    async def StreamIsActive(
        self,
        request: pb.ScaledObjectRef,
        context: "Context[pb.ScaledObjectRef, pb.IsActiveResponse]",
    ) -> AsyncIterator[pb.IsActiveResponse]:
        """Send true on opening if active, then on each change from inactive to active.

        No false is sent, and HOLD and Starting send nothing: they neither are an activation nor
        end one. KEDA 2.18 and later ignore a false; earlier ones would deactivate at once.
        """
        watched = self._watches.watch(ref_of(request))
        del context, request
        sent = False
        with watched as watch:
            while not watch.ended:
                on = self._decided_activity(watch.ref)
                if on and not sent:
                    yield pb.IsActiveResponse(result=True)
                sent = sent if on is None else on
                if not await watch.wait():
                    return

    async def StreamMetricSpec(
        self,
        request: pb.ScaledObjectRef,
        context: "Context[pb.ScaledObjectRef, pb.GetMetricSpecResponse]",
    ) -> AsyncIterator[pb.GetMetricSpecResponse]:
        """Send the spec once and stay silent; with malformed metadata there is none to send."""
        watched = self._watches.watch(ref_of(request))
        del context, request
        with watched as watch:
            metric = metric_of(watch.ref)
            if not isinstance(metric, InvalidTrigger):
                yield answers.spec(metric)
            while await watch.wait():
                pass

    def _current(self, ref: TriggerRef) -> Decision:
        """Give the cached Decision; the first time a trigger is asked for it is decided here.

        Where nobody decides any more the last Decision is no answer: what was idle may be busy.
        """
        decision = self._store.ask(ref, now=self._clock()) or self._decide(ref)
        return _outdated(decision) if self._store.stale else decision

    def _answer(self, rpc: str, decision: Decision) -> Answer:
        """Give what KEDA gets, and count it."""
        if decision.status is Status.OK:
            self._telemetry.answers.labels(rpc, Status.OK).inc()
        else:
            self._telemetry.answers.labels(rpc, Status.HOLD).inc()
            self._telemetry.holds.labels(decision.reason).inc()
        return answer(decision)

    def _decided_activity(self, ref: TriggerRef) -> bool | None:
        """Give the activity; None while the truth is not known, and for Starting.

        When KEDA takes a target to zero, the watch of pods may tell that they go before that of
        the target tells its size: then pods are missing, and a true would wake it again at once.
        Polls keep alive what starts.
        """
        decision = self._current(ref)
        return None if decision.reason is Reason.STARTING else decision.active

    def _remember(self, ref: TriggerRef, decision: Decision) -> None:
        """Keep a Decision for the rest of its poll, and drop those whose poll is over."""
        now = self._clock()
        self._polled[ref] = (now, decision)
        self._polled.move_to_end(ref)
        while abs(now - next(iter(self._polled.values()))[0]) > ONE_POLL_SECONDS:
            self._polled.popitem(last=False)

    def _of_poll(self, ref: TriggerRef) -> Decision | None:
        at, decision = self._polled.get(ref, (0.0, None))
        return decision if abs(self._clock() - at) <= ONE_POLL_SECONDS else None


def _outdated(decision: Decision) -> Decision:
    return replace(
        decision,
        status=Status.HOLD,
        active=None,
        value=None,
        reason=Reason.INTERNAL,
        detail=f"nothing was decided for over {STALE_SECONDS:g} s; the log may say why",
    )
