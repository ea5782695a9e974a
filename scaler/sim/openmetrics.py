"""Read OpenMetrics text with timestamps, as `promtool tsdb create-blocks-from openmetrics` does."""

import re
from collections.abc import Iterator

from scaler.sim.promql.labels import METRIC, Labels, labels_of
from scaler.sim.samples import OutOfOrderError, SampleStore


class OpenMetricsError(Exception):
    """Text that promtool would refuse; names the line."""


_SAMPLE = re.compile(
    r"(?P<metric>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r" (?P<value>\S+)(?: (?P<time>\S+))?(?: # .*)?",
    re.ASCII,
)
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)', re.ASCII)
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def read_samples(text: str) -> SampleStore:
    """Read a whole text, in any order of times.

    Raises:
        OpenMetricsError: what is wrong with which line.
    """
    found: dict[tuple[Labels, int], float] = {}
    for number, labels, time, value in _samples(text):
        # As text, since NaN equals nothing.
        if repr(found.setdefault((labels, time), value)) != repr(value):
            raise OpenMetricsError(f"line {number}: another value of the same series and time")
    store = SampleStore()
    for labels, time in sorted(found):
        try:
            store.append_exact(labels, time=time, value=found[labels, time])
        except OutOfOrderError as error:
            raise OpenMetricsError(str(error)) from error
    return store


def _samples(text: str) -> Iterator[tuple[int, Labels, int, float]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line == "# EOF":
            if any(lines[number:]):
                raise OpenMetricsError(f"line {number + 1}: text after # EOF")
            return
        if line.startswith("#"):
            continue
        try:
            yield number, *_sample(line)
        except ValueError as error:
            raise OpenMetricsError(f"line {number}: {error}") from error
    raise OpenMetricsError("data does not end with # EOF")


def _sample(line: str) -> tuple[Labels, int, float]:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        raise ValueError(f"not a sample: {line[:80]!r}")
    if found["time"] is None:
        raise ValueError(f"a timestamp is missing: {line[:80]!r}")
    labels = _labels(found["labels"] or "")
    # Cut, not rounded: so does Prometheus.
    time = int(float(found["time"]) * 1000)
    return labels_of({**labels, METRIC: found["metric"]}), time, float(found["value"])


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _LABEL.match(text, position)
        if found is None:
            raise ValueError(f"not labels: {text[position : position + 80]!r}")
        if found[1] in labels:
            raise ValueError(f"label {found[1]} twice")
        labels[found[1]] = re.sub(
            r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), found[2]
        )
        position = found.end()
    return labels
