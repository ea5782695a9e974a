"""Read and write OpenMetrics text with timestamps, as promtool's create-blocks-from does."""

import math
import re
from collections.abc import Iterator, Mapping

from scaler.sim.promql.labels import METRIC, Labels, labels_of, value_of
from scaler.sim.samples import SampleStore


class OpenMetricsError(Exception):
    """Text that promtool would refuse; names the line."""


_SAMPLE = re.compile(
    r"(?P<metric>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r" (?P<value>\S+)(?: (?P<time>\S+))?(?: # .*)?",
    re.ASCII,
)
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)', re.ASCII)
_BLOCK = 7_200_000
"""Milliseconds of the blocks that promtool fills one after the other."""
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def read_samples(text: str) -> SampleStore:
    """Read a whole text.

    A sample that is no newer than one before it in the text, of the same series and two-hour
    block, is left out: so does promtool, without a word.

    Raises:
        OpenMetricsError: what is wrong with which line.
    """
    newest: dict[tuple[Labels, int], int] = {}
    kept: list[tuple[int, Labels, float]] = []
    for labels, time, value in _samples(text):
        block = labels, time // _BLOCK
        if time > newest.get(block, time - 1):
            newest[block] = time
            kept.append((time, labels, value))
    store = SampleStore()
    for time, labels, value in sorted(kept, key=lambda sample: sample[0]):
        store.append_exact(labels, time=time, value=value)
    return store


def _samples(text: str) -> Iterator[tuple[Labels, int, float]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line == "# EOF":
            if any(lines[number:]):
                raise OpenMetricsError(f"line {number + 1}: text after # EOF")
            return
        if line.startswith("#") or (number == len(lines) and not line):
            continue
        try:
            yield _sample(line)
        except (ValueError, OverflowError) as error:
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
    time = int(_number(found["time"]) * 1000)
    return labels_of({**labels, METRIC: found["metric"]}), time, _number(found["value"])


def _number(text: str) -> float:
    if "_" in text:  # Python's own spelling
        raise ValueError(f"could not convert {text!r} to a number")
    return float(text)


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


def written_samples(samples: Mapping[Labels, Mapping[int, float]]) -> Iterator[str]:
    """Write series of samples (milliseconds -> value) line by line, metric by metric.

    Each series' times ascend; labels include the metric's name.
    """
    named = sorted((value_of(labels, METRIC), labels) for labels in samples)
    for metric, labels in named:
        told = ",".join(f"{_name(n)}={_quoted(v)}" for n, v in labels if n != METRIC)
        series = f"{metric}{{{told}}}" if told else metric
        for time, value in sorted(samples[labels].items()):
            yield f"{series} {_text(value)} {time // 1000}.{time % 1000:03d}\n"
    yield "# EOF\n"


def _name(label: str) -> str:
    """Write a label's name in the letters that the text format has."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", label)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _text(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value)
