"""Aggregations over series."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from scaler.sim.promql.labels import Labels, group_key
from scaler.sim.promql.over_time import largest, mean, smallest, total
from scaler.sim.promql.series import Row, Values
from scaler.sim.promql.syntax import Grouping

_AGGREGATIONS: Mapping[str, Callable[[Sequence[float]], float]] = MappingProxyType(
    {
        "sum": total,
        "avg": mean,
        "max": largest,
        "min": smallest,
        "count": lambda values: float(len(values)),
        "group": lambda _: 1.0,
    }
)


def aggregated(rows: Iterable[Row], *, operator: str, grouping: Grouping) -> list[Row]:
    """Join the rows of each group, instant by instant."""
    groups: defaultdict[Labels, list[Values]] = defaultdict(list)
    for row in rows:
        groups[group_key(row.labels, grouping)].append(row.values)
    join = _AGGREGATIONS[operator]
    return [Row(labels, _joined(columns, join)) for labels, columns in groups.items()]


def _joined(columns: Sequence[Values], join: Callable[[Sequence[float]], float]) -> Values:
    joined: Values = []
    for values in zip(*columns, strict=True):
        there = [value for value in values if value is not None]
        joined.append(join(there) if there else None)
    return joined
