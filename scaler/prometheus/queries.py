"""The named fleet queries: one request each, whatever the number of triggers and signals.

Windows are written 1 ms short, so that a sample exactly one window old is outside with closed
ranges (Prometheus 2) and left-open ones (3) alike. The time in an answered vector is that of the
evaluation, up to five minutes younger than the sample: `timestamp()` is asked instead.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from scaler.core.policy import PrometheusSettings
from scaler.core.profile import ActivitySignal, MetricProfile, metric_profile
from scaler.core.usage import QueryKey, UsageKey

SIGNAL = "signal"
"""The label that says which signal a row is of."""
TALLY = "tally"
"""The label that says how a row of SAMPLES was counted."""
LOOKBACK = 300.0
"""Seconds that an instant selector reaches back (the server's default)."""
AGES = 2.0
"""LATEST reaches back this many times the oldest that a sample may be, to say how old it is."""
MAX_WATTS = 100_000.0
"""No device draws more: beyond it a sample is a blank sentinel."""
MAX_CELSIUS = 1_000.0
SCRAPE_JITTER = 1.0 / 30.0
"""By how much of the scrape interval a sample may be late and still fill its slot."""


class FleetQuery(StrEnum):
    """Name the queries whose answers together are one Usage."""

    PEAK = "peak"
    """Maximum in the window by series labels and signal, in the metric's scale."""
    SAMPLES = "samples"
    """Samples in the window by device, signal and tally; only of signals that vouch."""
    SERIES = "series"
    """Raw samples in the window by series labels and signal; only of signals that vouch."""
    LATEST = "latest"
    """Time of the newest usable sample by series labels and signal; none where it is old."""
    LAST_BUSY = "last_busy"
    """Newest time at or above the threshold by series labels and signal."""
    POWER = "power"
    """Maximum power in the window by device and model, in the metric's scale."""
    MOVED = "moved"
    """Changes of temperature and energy in the window by device."""


class Tally(StrEnum):
    """Name the countings of SAMPLES; see `usage` for how they are joined."""

    DISTINCT = "distinct"
    """Different sample times."""
    FRESH = "fresh"
    """Half scrape intervals at whose end the newest sample is younger than one interval."""
    GARBAGE = "garbage"
    """Half scrape intervals at whose end the newest sample is NaN or out of range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    profile: MetricProfile
    matchers: str
    window: str
    step: str
    start: str
    """The instant after which samples are within the window."""

    def select(self, metric: str) -> str:
        return f"{metric}{{{self.matchers}}}" if self.matchers else metric

    @property
    def device(self) -> str:
        instance = filter(None, (self.profile.instance_label,))
        return ", ".join((*self.profile.device_labels, *instance))

    @property
    def labels(self) -> str:
        pods = [label for pair in self.profile.pod_labels for label in pair]
        model = filter(None, (self.profile.model_label,))
        return ", ".join(dict.fromkeys((self.device, *model, *pods)))


def fleet_queries(
    *, settings: PrometheusSettings, key: UsageKey, look_back: float, max_age: float, at: float
) -> Mapping[FleetQuery, str]:
    """Build a key's queries; one that the profile has no metric for is left out.

    Args:
        settings: Which profile, matchers and scrape interval.
        key: Window and threshold.
        look_back: Seconds before the window that LAST_BUSY reaches to.
        max_age: Seconds from which a newest sample is stale.
        at: The instant at which all of them will be evaluated.
    """
    scope = _scope(settings=settings, window=key.window_seconds, at=at)
    signals = scope.profile.signals
    vouching = tuple(signal for signal in signals if signal.vouches)
    built = {
        FleetQuery.PEAK: _any(_peak(scope, signal) for signal in signals),
        FleetQuery.SAMPLES: _any(_samples(scope, signal, settings=settings) for signal in vouching),
        FleetQuery.SERIES: _any(_raw_count(scope, signal) for signal in vouching),
        FleetQuery.LATEST: _any(_latest(scope, signal, max_age=max_age) for signal in signals),
        FleetQuery.LAST_BUSY: _any(
            _last_busy(scope, signal, key=key, settings=settings, look_back=look_back)
            for signal in signals
        ),
        FleetQuery.POWER: _power(scope),
        FleetQuery.MOVED: _moved(scope),
    }
    return {name: expression for name, expression in built.items() if expression}


def selectors(settings: PrometheusSettings) -> tuple[str, ...]:
    """Give an instant selector of every metric that the fleet queries read."""
    scope = _scope(settings=settings, window=LOOKBACK, at=0.0)
    profile = scope.profile
    metrics = (
        *(signal.metric for signal in profile.signals),
        profile.power_metric,
        *profile.temperature_metrics,
        profile.energy_metric,
    )
    return tuple(scope.select(metric) for metric in dict.fromkeys(filter(None, metrics)))


def reach(*, settings: PrometheusSettings, key: UsageKey, look_back: float) -> float:
    """Give for how many seconds before the evaluation a key's queries read samples."""
    window = key.window_seconds + look_back + 2 * settings.scrape_interval
    return window + LOOKBACK + settings.scrape_interval


def bind(*, template: str, key: QueryKey) -> str:
    """Put namespace and workload into a query template, quoted for a PromQL string or regex."""
    names = {"namespace": key.namespace, "workload": key.workload}
    return re.sub(
        r"\$(namespace|workload)\b|\$\{(namespace|workload)\}",
        lambda found: _quoted(names[found[1] or found[2]]),
        template,
    )


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'").replace("`", "")


def _scope(*, settings: PrometheusSettings, window: float, at: float) -> _Scope:
    return _Scope(
        profile=metric_profile(settings),
        matchers=settings.matchers,
        window=_short(window),
        step=_duration(settings.scrape_interval / 2),
        start=_number(round(at - window + 0.001, 3)),
    )


def _peak(scope: _Scope, signal: ActivitySignal) -> str:
    """Take the maximum; where garbage is the maximum, that of what is usable.

    A step of the second reaches back beyond the window: a series that ended without a stale
    marker, or whose window begins with garbage, would show a sample from before.
    """
    metric = scope.select(signal.metric)
    raw = f"max_over_time({metric}[{scope.window}])"
    within = f"{_usable(metric, signal)} and {_within(scope, metric)}"
    usable = f"max_over_time(({within})[{scope.window}:{scope.step}])"
    series = f"{_usable(raw, signal)} or {usable}"
    return _named(f"max by ({scope.labels}) ({series})", signal)


def _samples(
    scope: _Scope,
    signal: ActivitySignal,
    *,
    settings: PrometheusSettings,
) -> str:
    """Count samples three ways.

    A device's series change their labels in mid-window, so times are taken by device first.
    Half-interval steps see each sample of a regular scrape; where two scrapers report a device,
    FRESH keeps the count of different times from filling another's gaps.
    """
    metric = scope.select(signal.metric)
    times = f"max by ({scope.device}) (timestamp({metric}))"
    span = f"[{scope.window}:{scope.step}]"
    reach = _number(settings.scrape_interval * (1 + SCRAPE_JITTER))
    half = _number(signal.maximum / 2)
    garbage = f"(abs({metric} - {half}) <= bool {half}) == 0"
    counts = {
        Tally.DISTINCT: f"changes(({times} > {scope.start}){span}) + 1",
        Tally.FRESH: f"count_over_time(({times} > time() - {reach}){span})",
        Tally.GARBAGE: f"count_over_time((max by ({scope.device}) ({garbage})){span})",
    }
    tagged = (_tagged(count, label=TALLY, value=tally) for tally, count in counts.items())
    return _named(_any(tagged), signal)


def _raw_count(scope: _Scope, signal: ActivitySignal) -> str:
    count = f"count_over_time({scope.select(signal.metric)}[{scope.window}])"
    return _named(f"max by ({scope.labels}) ({count})", signal)


def _latest(scope: _Scope, signal: ActivitySignal, *, max_age: float) -> str:
    """Take the newest usable time, no further back than it matters.

    Series of pods that ended are in there too: where pods come and go, five minutes of them cost
    more than all the other queries.
    """
    reach = _short(min(LOOKBACK, AGES * max_age))
    metric = scope.select(signal.metric)
    usable = f"timestamp({metric}) and {_usable(metric, signal)}"
    before = f"max_over_time(({usable})[{reach}:{scope.step}])"
    return _named(f"max by ({scope.labels}) (({usable}) or {before})", signal)


def _last_busy(
    scope: _Scope,
    signal: ActivitySignal,
    *,
    key: UsageKey,
    settings: PrometheusSettings,
    look_back: float,
) -> str:
    metric = scope.select(signal.metric)
    threshold = _number(key.busy_from_percent * signal.maximum / 100)
    busy = f"({metric} >= {threshold}) <= {_number(signal.maximum)}"
    reach = _short(key.window_seconds + look_back + 2 * settings.scrape_interval)
    times = f"max_over_time(timestamp({busy})[{reach}:{scope.step}])"
    return _named(f"max by ({scope.labels}) ({times})", signal)


def _power(scope: _Scope) -> str:
    profile = scope.profile
    if profile.power_metric is None:
        return ""
    metric = scope.select(profile.power_metric)
    top = _number(MAX_WATTS / profile.watts_per_unit)
    raw = f"(max_over_time({metric}[{scope.window}]) >= 0) <= {top}"
    within = f"(({metric} >= 0) <= {top}) and {_within(scope, metric)}"
    usable = f"max_over_time(({within})[{scope.window}:{scope.step}])"
    labels = ", ".join((scope.device, *filter(None, (profile.model_label,))))
    return f"max by ({labels}) ({raw} or {usable})"


def _moved(scope: _Scope) -> str:
    profile = scope.profile
    temperatures = (f"({scope.select(m)} <= {MAX_CELSIUS:g})" for m in profile.temperature_metrics)
    changes = [f"changes({metric}[{scope.window}:{scope.step}])" for metric in temperatures]
    if profile.energy_metric is not None:
        changes.append(f"changes({scope.select(profile.energy_metric)}[{scope.window}])")
    tagged = (
        _tagged(f"max by ({scope.device}) ({change})", label=SIGNAL, value=str(index))
        for index, change in enumerate(changes)
    )
    return _any(tagged)


def _within(scope: _Scope, metric: str) -> str:
    return f"(timestamp({metric}) > {scope.start})"


def _usable(expression: str, signal: ActivitySignal) -> str:
    """Keep samples within the metric's range; NaN compares false and goes too."""
    return f"(({expression} >= 0) <= {_number(signal.maximum)})"


def _named(expression: str, signal: ActivitySignal) -> str:
    return _tagged(expression, label=SIGNAL, value=signal.name)


def _tagged(expression: str, *, label: str, value: str) -> str:
    """Add a constant label; without it `or` would drop rows whose other labels are equal."""
    return f'label_replace({expression}, "{label}", "{value}", "", "")'


def _any(expressions: Iterable[str]) -> str:
    return " or ".join(expressions)


def _short(seconds: float) -> str:
    return f"{round(seconds * 1000) - 1}ms"


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
