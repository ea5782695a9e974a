"""Turn a Board into the JSON that Grafana loads, by way of Grafana's own types."""

import json
from itertools import count

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DataTransformerConfig,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.dashboard import Panel as GrafanaPanel
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.profiles import PROFILES
from dashboards.spec import Board, Form, LabelVariable, Panel, Query

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
HEIGHTS = {Form.NUMBER: 4, Form.TABLE: 10, Form.CHART: 8, Form.STACK: 8}
TAG = "kueue-gpu-scaler"
ALL = ".*"
FILLED = 25
"""Percent, below the lines of a stack."""


def rendered(board: Board) -> str:
    """Give a dashboard's JSON, the same text for the same board."""
    made = (
        build.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags([TAG])
        .timezone("browser")
        .time(board.since, "now")
        .refresh("1m")
        .editable()
        .with_variable(
            build.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        )
    )
    for variable in board.variables:
        made = made.with_variable(_variable(variable))
    if board.profiles:
        made = made.with_variable(_profile())
    numbers = count(1)
    for section in board.sections:
        made = made.with_row(build.Row(section.title).id(next(numbers)))
        for panel in section.panels:
            made = made.with_panel(_panel(panel, number=next(numbers)))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _variable(variable: LabelVariable) -> build.QueryVariable:
    return (
        build.QueryVariable(variable.name)
        .label(variable.title)
        .datasource(DATASOURCE)
        .query(variable.query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(ALL)
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _profile() -> build.CustomVariable:
    """Give the variable of DCGM's namings: each value is the names of one as an expression."""
    options = [
        VariableOption(selected=not index, text=profile.title, value=profile.names)
        for index, profile in enumerate(PROFILES)
    ]
    return (
        build.CustomVariable("profile")
        .label("Metric profile")
        .values(", ".join(f"{profile.title} : {profile.names}" for profile in PROFILES))
        .options(options)
        .current(options[0])
    )


def _panel(panel: Panel, *, number: int) -> Builder[GrafanaPanel]:
    match panel.form:
        case Form.NUMBER:
            return _number(panel, number)
        case Form.TABLE:
            return _table(panel, number)
        case Form.CHART | Form.STACK:
            return _chart(panel, number)


def _number(panel: Panel, number: int) -> Builder[GrafanaPanel]:
    made = (
        stat.Panel()
        .id(number)
        .title(panel.title)
        .description(panel.about)
        .datasource(DATASOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(HEIGHTS[panel.form])
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
    )
    for query in panel.queries:
        made = made.with_target(_target(query, name="A").instant())
    return made


def _table(panel: Panel, number: int) -> Builder[GrafanaPanel]:
    made = (
        table.Panel()
        .id(number)
        .title(panel.title)
        .description(panel.about)
        .datasource(DATASOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(HEIGHTS[panel.form])
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_columns(panel))
    )
    for query, name in zip(panel.queries, "ABCDEFGH", strict=False):
        made = made.with_target(_target(query, name=name).instant().format(PromQueryFormat.TABLE))
    return made


def _columns(panel: Panel) -> DataTransformerConfig:
    """Title the columns; with one query Grafana calls its values `Value`, else `Value #A` ..."""
    alone = len(panel.queries) == 1
    names = {
        "Value" if alone else f"Value #{name}": query.legend
        for query, name in zip(panel.queries, "ABCDEFGH", strict=False)
    }
    options = {"excludeByName": {"Time": True, "cluster": False}, "renameByName": names}
    return DataTransformerConfig(id_val="organize", options=options)


def _chart(panel: Panel, number: int) -> Builder[GrafanaPanel]:
    made = (
        timeseries.Panel()
        .id(number)
        .title(panel.title)
        .description(panel.about)
        .datasource(DATASOURCE)
        .unit(panel.unit)
        .min(0)
        .span(panel.width)
        .height(HEIGHTS[panel.form])
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
        )
    )
    if panel.maximum is not None:
        made = made.max(panel.maximum)
    if panel.form is Form.STACK:
        mode = common_builders.StackingConfig().mode(common.StackingMode.NORMAL)
        made = made.stacking(mode).fill_opacity(FILLED)
    for query, name in zip(panel.queries, "ABCDEFGH", strict=False):
        made = made.with_target(_target(query, name=name).range())
    return made


def _target(query: Query, *, name: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .ref_id(name)
        .expr(query.expression)
        .legend_format(query.legend)
    )
