"""Evaluate over samples written in short."""

from collections.abc import Mapping, Sequence

from scaler.sim.promql import Engine, evaluate
from scaler.sim.samples import SampleStore

NOW = 1_790_000_000.0


def store_of(series: Mapping[str, Sequence[float | None]], *, every: float = 60.0) -> SampleStore:
    """Write series by `metric label=value ...`; the last sample is at NOW, None leaves one out."""
    store = SampleStore()
    for name, values in series.items():
        metric, *pairs = name.split()
        labels = dict(pair.split("=") for pair in pairs)
        for index, value in enumerate(values):
            at = NOW - (len(values) - 1 - index) * every
            if value is not None:
                store.append(metric, labels, at=at, value=value)
    return store


def vector(
    store: SampleStore, expression: str, *, at: float = NOW, engine: Engine | None = None
) -> dict[str, float]:
    """Give the answer by its labels in short."""
    found = evaluate(store, expression, at, engine=engine or Engine())
    assert isinstance(found, list)
    return {" ".join(f"{name}={value}" for name, value in labels): v for labels, v in found}


def scalar(expression: str) -> float:
    """Give a scalar's value; no samples are there."""
    found = evaluate(SampleStore(), expression, NOW)
    assert isinstance(found, float)
    return found
