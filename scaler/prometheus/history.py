"""The queries behind the page's charts: subqueries that an instant query answers with a matrix.

Each is bounded by its step: a chart has a few hundred of them, however long its time is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scaler.core.policy import PrometheusSettings
from scaler.core.profile import ActivitySignal, MetricProfile, metric_profile
from scaler.telemetry import PREFIX

OWN = ("namespace", "exported_namespace", "scaled_object", "metric")
"""Labels that name a trigger in our own metrics; a scrape may have moved ours to `exported_`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How far back is asked, and in what steps; seconds."""

    seconds: float
    step: float

    def __str__(self) -> str:
        return f"[{_milliseconds(self.seconds)}:{_milliseconds(self.step)}]"


def reasons(names: Iterable[str], window: Window) -> str:
    """Ask how many replicas gave which status and reason for these ScaledObjects."""
    by = ", ".join((*OWN, "status", "reason"))
    return f"count by ({by}) ({_own('decision_reason', names)}){window}"


def values(names: Iterable[str], window: Window) -> str:
    """Ask which values these ScaledObjects' triggers had; absent while in HOLD."""
    return f"max by ({', '.join(OWN)}) ({_own('decision_value', names)}){window}"


def peaks(
    settings: PrometheusSettings, *, namespace: str, pods: Iterable[str], window: Window
) -> str:
    """Ask for the most active device of these pods, in percent: the peak of each step."""
    rows = _activity(settings, namespace=namespace, pods=pods, window=window)
    return f"max({rows}){window}" if rows else ""


def reporting(
    settings: PrometheusSettings, *, namespace: str, pods: Iterable[str], window: Window
) -> str:
    """Ask how many devices of these pods have samples in each step."""
    rows = _activity(settings, namespace=namespace, pods=pods, window=window)
    return f"count({rows}){window}" if rows else ""


def device_peaks(
    settings: PrometheusSettings,
    *,
    namespace: str,
    pods: Iterable[str],
    devices: Iterable[str],
    window: Window,
) -> str:
    """Ask for each of these devices (as evidence names them): the peak of each step, percent."""
    named = tuple(devices)
    matchers = _device_matchers(metric_profile(settings), named)
    rows = _activity(settings, namespace=namespace, pods=pods, window=window, matchers=matchers)
    return f"{rows}{window}" if named and rows else ""


def device_name(settings: PrometheusSettings, labels: Mapping[str, str]) -> str:
    """Name a row's device as evidence does."""
    profile = metric_profile(settings)
    device = "/".join(labels.get(label, "") for label in profile.device_labels)
    instance = labels.get(profile.instance_label, "") if profile.instance_label else ""
    return f"{device}/{instance}" if instance else device


def _activity(
    settings: PrometheusSettings,
    *,
    namespace: str,
    pods: Iterable[str],
    window: Window,
    matchers: tuple[str, ...] = (),
) -> str:
    """Give the peak of each step by device, over all signals, in percent."""
    profile = metric_profile(settings)
    names = _any_of(pods)
    instance = filter(None, (profile.instance_label,))
    by = ", ".join((*profile.device_labels, *instance))
    signals = [
        f'label_replace({_percent(signal, select, window)}, "signal", "{signal.name}", "", "")'
        for signal in profile.signals
        for select in _selectors(settings, profile, signal, namespace, names, matchers)
    ]
    return f"max by ({by}) ({' or '.join(signals)})" if signals else ""


def _selectors(
    settings: PrometheusSettings,
    profile: MetricProfile,
    signal: ActivitySignal,
    namespace: str,
    pods: str,
    matchers: tuple[str, ...],
) -> Iterable[str]:
    """Give a signal's selectors, one for each way in which series name their pod."""
    more = [*filter(None, (settings.matchers.rstrip(","),)), *matchers]
    if signal.void_on_slices and profile.instance_label is not None:
        more.append(f"{profile.instance_label}=~{_any_of(sorted(profile.whole_instances))}")
    for namespace_label, pod_label in profile.pod_labels:
        own = (f"{namespace_label}={_text(namespace)}", f"{pod_label}=~{pods}")
        yield f"{signal.metric}{{{', '.join((*own, *more))}}}"


def _percent(signal: ActivitySignal, selector: str, window: Window) -> str:
    """Give the peak of a step; a sample out of the metric's range is none."""
    maximum = f"{signal.maximum:g}"
    peak = f"max_over_time({selector}[{_milliseconds(window.step)}])"
    usable = f"(({peak} >= 0) <= {maximum})"
    return usable if maximum == "100" else f"{usable} * {100 / signal.maximum:g}"


def _device_matchers(profile: MetricProfile, devices: Iterable[str]) -> tuple[str, ...]:
    """Match the devices by each of their labels; an instance comes after the last."""
    parts = [device.split("/") for device in devices]
    return tuple(
        f"{label}=~{_any_of(sorted({part[at] for part in parts if at < len(part)}))}"
        for at, label in enumerate(profile.device_labels)
    )


def _own(metric: str, names: Iterable[str]) -> str:
    return f"{PREFIX}_{metric}{{scaled_object=~{_any_of(names)}}}"


def _any_of(names: Iterable[str]) -> str:
    """Write a regex that matches these names alone."""
    return _text("|".join(re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", name) for name in names))


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = (one if one.isprintable() else f"\\U{ord(one):08x}" for one in escaped)
    return f'"{"".join(plain)}"'


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"
