"""Samples in memory, appended to while they are asked for."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping

from scaler.core.model import Instant
from scaler.sim.promql.labels import METRIC, Labels, labels_of, matches, value_of
from scaler.sim.promql.series import Series
from scaler.sim.promql.syntax import Matcher


class OutOfOrderError(Exception):
    """A sample that is older than its series' newest, or of the same time with another value."""


class SampleStore:
    """An in-memory stand-in for a Prometheus' samples."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._series: dict[Labels, Series] = {}
        self._by_metric: defaultdict[str, list[Series]] = defaultdict(list)

    def append(
        self, metric: str, labels: Mapping[str, str], *, at: Instant, value: float | None
    ) -> None:
        """Append one sample; None marks the series stale from then on.

        Raises:
            OutOfOrderError: the series has a sample that is as new or newer.
        """
        self.append_exact(labels_of({**labels, METRIC: metric}), time=round(at * 1000), value=value)

    def append_exact(self, labels: Labels, *, time: int, value: float | None) -> None:
        """Append one sample at a time in milliseconds; labels include the metric's name.

        Raises:
            OutOfOrderError: the series has a sample that is as new or newer.
        """
        with self._lock:
            series = self._series.get(labels)
            if series is None:
                series = self._series[labels] = Series(labels=labels)
                self._by_metric[value_of(labels, METRIC)].append(series)
            if series.times and series.times[-1] >= time:
                raise OutOfOrderError(f"{dict(labels)} at {time} ms: newest is {series.times[-1]}")
            # An evaluation under way finds a time only together with its value.
            series.values.append(value)
            series.times.append(time)

    def select(self, matchers: tuple[Matcher, ...]) -> Iterable[Series]:
        """Give the series that fit all matchers."""
        names = [m.value for m in matchers if m.label == METRIC and m.operator == "="]
        with self._lock:
            found = list(self._by_metric[names[0]] if names else self._series.values())
        return [series for series in found if all(matches(series.labels, m) for m in matchers)]
