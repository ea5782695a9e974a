"""Turn Decisions into messages: the one table of what KEDA gets."""

from typing import assert_never

from scaler.core.decision import ActiveWithoutValue, Answer, Unavailable, Value
from scaler.pb import externalscaler_pb2 as pb

TARGET = 1
"""Every metric's target: the value is the wanted size itself."""


def spec(metric: str) -> pb.GetMetricSpecResponse:
    """Give the one spec of a trigger, old and new field alike."""
    return pb.GetMetricSpecResponse(
        metricSpecs=[
            pb.MetricSpec(metricName=metric, targetSize=TARGET, targetSizeFloat=float(TARGET))
        ]
    )


def metrics(answer: Value | ActiveWithoutValue, *, metric: str) -> pb.GetMetricsResponse:
    """Give the value in both fields, or no value at all; a zero is zero in both."""
    match answer:
        case ActiveWithoutValue():
            return pb.GetMetricsResponse()
        case Value(value=value):
            return pb.GetMetricsResponse(
                metricValues=[
                    pb.MetricValue(
                        metricName=metric, metricValue=value, metricValueFloat=float(value)
                    )
                ]
            )
        case _:
            assert_never(answer)


def is_active(answer: Value | ActiveWithoutValue) -> pb.IsActiveResponse:
    """Give the activity; without a value the target is kept active."""
    return pb.IsActiveResponse(result=active(answer))


def active(answer: Answer) -> bool:
    """Say whether an answer keeps or makes the target active."""
    match answer:
        case Value(active=on):
            return on
        case ActiveWithoutValue():
            return True
        case Unavailable():
            return False
        case _:
            assert_never(answer)
