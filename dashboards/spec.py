"""What a dashboard consists of, before Grafana's own form of it."""

from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """How a panel shows its queries."""

    CHART = "chart"
    STACK = "stack"
    """A chart whose series add up."""
    NUMBER = "number"
    TABLE = "table"
    """One row a label set, one column a query; its queries are asked of one moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One PromQL query of a panel."""

    expression: str
    legend: str
    """With `{{label}}`; in a table the column's title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel; 24 columns are a row."""

    title: str
    about: str
    """What it means, and where its numbers come from."""
    queries: tuple[Query, ...]
    form: Form = Form.CHART
    unit: str = "short"
    width: int = 8
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled row of panels."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelVariable:
    """A variable whose values are those of a label; all of them at first."""

    name: str
    title: str
    metric: str
    label: str

    @property
    def query(self) -> str:
        """Give the query as Grafana asks it."""
        return f"label_values({self.metric}, {self.label})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard; `uid` is the name of its file too."""

    uid: str
    title: str
    about: str
    variables: tuple[LabelVariable, ...]
    sections: tuple[Section, ...]
    since: str = "now-6h"
    profiles: bool = False
    """It reads DCGM's metrics, and so has the variable `profile`."""


CLUSTER = LabelVariable(
    name="cluster",
    title="Cluster",
    metric="kueue_gpu_scaler_policy_reload_ok",
    label="cluster",
)
OURS = 'cluster=~"$cluster"'
"""Matchers of what the service says of itself; without a label `cluster` they match too."""


def metric(name: str, matchers: str = "") -> str:
    """Give a metric of ours whose labels no scrape changes."""
    inside = f"{OURS}, {matchers}" if matchers else OURS
    return f"kueue_gpu_scaler_{name}{{{inside}}}"


def own(name: str, matchers: str = "") -> str:
    """Give a metric of ours whose label `namespace` a scrape may have renamed."""
    return renamed(metric(name, matchers))


def renamed(expression: str) -> str:
    """Give series with the namespace that is meant, whatever the scrape made of that label.

    Where labels are not honored, `namespace` is the service's own and the one that is meant is
    exported_namespace.
    """
    return f'label_replace({expression}, "namespace", "$1", "exported_namespace", "(.+)")'
