"""What is watched is there: metrics, pages, cases; dashboards are what their code gives."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from dashboards.__main__ import generated, read
from scaler.actuator.metrics import HeldCollector, Tracker
from scaler.core.metadata import metric_name
from scaler.core.policy import Policy
from scaler.core.trigger import TriggerRef
from scaler.policyfile import PolicyState
from scaler.status.metrics import register
from scaler.store import Store
from scaler.telemetry import Telemetry
from tests.actuator.stage import Lead
from tests.builders import NOW
from tests.e2e.boards import PROFILE, read_boards
from tests.golang import ROOT
from tests.peers.alert_cases import CASES
from tests.peers.alerts import Rule, shipped
from tests.promql_names import metrics_of

RUNBOOKS = ROOT / "docs" / "runbooks"
GRAFANA = ROOT / "deploy" / "grafana"
ALERTS = {rule.alert: rule for rule in shipped() if rule.alert}
SEVERITIES = {"critical", "warning", "info"}
OTHERS = frozenset(
    {
        # dcgm-exporter up to 4.8, and from 4.9 on
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_PROF_TENSOR_UTIL_RATIO",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_GPU_UTIL_RATIO",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_GPU_TEMP_CELSIUS",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_BOARD_POWER_WATTS",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_FI_DEV_XID_ERROR",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "DCGM_FI_DEV_ROW_REMAP_FAILED",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        # Kueue
        "kueue_admission_wait_time_seconds_bucket",
        "kueue_pending_workloads",
        # of a service with certificates alone
        "kueue_gpu_scaler_certificate_expiry_seconds",
    }
)
"""Metrics that are not of a plain service and actuator."""


def own_metrics() -> frozenset[str]:
    """Name every series that service and actuator expose, read off their registries."""
    store = Store(policy=PolicyState(policy=Policy()), at=NOW)
    service = register(telemetry=Telemetry(), store=store, clock=lambda: NOW)
    actuator = CollectorRegistry()
    actuator.register(HeldCollector(tracker=Tracker(actuator), plans=dict, leadership=Lead()))
    return frozenset(
        f"{metric.name}{suffix}"
        for registry in (service, actuator)
        for metric in registry.collect()
        for suffix in ({"counter": ("_total",)}.get(metric.type) or ("", "_bucket", "_count"))
    )


def rules_and_panels() -> Mapping[str, str]:
    """Give every expression by what it is of."""
    rules = {rule.alert or rule.record: rule.expr for rule in shipped()}
    panels = {
        f"{board.uid}: {panel.title} {number}": target.expr
        for board in read_boards()
        for panel in board.panels
        for number, target in enumerate(panel.targets)
    }
    variables = {
        f"{board.uid}: ${each.name}": str(each.query)[len("label_values(") :].rpartition(",")[0]
        for board in read_boards()
        for each in board.templating.list
        if each.type == "query"
    }
    return rules | panels | variables


EXPRESSIONS = rules_and_panels()


def test_expressions_read_metrics_that_are_really_there() -> None:
    """A misspelled name would be an empty panel, and an alert that never fires."""
    known = own_metrics() | OTHERS | {rule.record for rule in shipped() if rule.record}
    strange = {
        what: found for what, text in EXPRESSIONS.items() if (found := metrics_of(text) - known)
    }
    assert not strange
    assert len(EXPRESSIONS) > 80


def test_no_metric_is_on_the_list_that_nothing_reads() -> None:
    """So that the list stays what it says."""
    read_ = {name for text in EXPRESSIONS.values() for name in metrics_of(text)}
    assert not OTHERS - read_
    assert not {rule.record for rule in shipped() if rule.record} - read_ - {""}


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('sum by (a) (rate(x_total{b="c d"}[5m] offset 1h)) > 0.5 or vector(0)', {"x_total"}),
        ("a:b * on (c) group_left (d) (e > bool 2e3)", {"a:b", "e"}),
        ('topk(3, {__name__=~"X|Y", __name__=~"$z"})', {"X", "Y"}),
        ("time() - y < 7 * 86400 unless absent(z)", {"y", "z"}),
    ],
)
def test_metrics_are_told_from_labels_functions_and_numbers(
    expression: str, names: set[str]
) -> None:
    """The test above can only find what this finds."""
    assert metrics_of(expression) == names


@pytest.mark.parametrize("rule", ALERTS.values(), ids=ALERTS)
def test_each_alert_names_its_object_and_its_page(rule: Rule) -> None:
    """Whoever is woken reads nothing else at first."""
    assert rule.annotations["runbook_url"] == f"docs/runbooks/{rule.alert}.md"
    assert (RUNBOOKS / f"{rule.alert}.md").is_file()
    assert rule.labels["severity"] in SEVERITIES
    assert rule.annotations["summary"]
    named = "{{ $labels." in rule.annotations["description"]
    assert named or rule.alert == "KueueGpuScalerDown", "there is no object where nothing is"


def test_each_page_is_of_an_alert_and_says_what_to_do() -> None:
    """In four parts, with its severity as the rule has it."""
    pages = {path.stem: path.read_text() for path in RUNBOOKS.glob("*.md")}
    assert pages.keys() == ALERTS.keys()
    for name, text in pages.items():
        titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
        assert titles == [
            "What it means",
            "How to see it",
            "What to do",
            "When it is harmless",
        ], name
        assert f"*{ALERTS[name].labels['severity']}.*" in text, name


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_has_a_case_that_fires_and_one_that_does_not(alert: str) -> None:
    """`make peers` plays them with promtool."""
    assert {bool(case.fires) for case in CASES if case.alert == alert} == {True, False}


def test_dashboards_are_what_their_code_gives() -> None:
    """Without a hand-made change in between."""
    fresh = generated()
    assert {path: read(path) for path in fresh} == fresh
    assert set(GRAFANA.glob("*.json")) == fresh.keys()


def test_each_dashboard_is_loaded_by_the_kustomization() -> None:
    """As a ConfigMap with the label that Grafana's sidecar looks for."""
    loaded: dict[str, Any] = yaml.safe_load((GRAFANA / "kustomization.yaml").read_text())
    files = {name for each in loaded["configMapGenerator"] for name in each["files"]}
    assert files == {path.name for path in GRAFANA.glob("*.json")}
    assert loaded["generatorOptions"]["labels"]["grafana_dashboard"] == "1"


def test_each_panel_says_what_it_means_and_asks_the_chosen_datasource() -> None:
    """Titles and numbers alone are not understood by who did not make them."""
    for path in GRAFANA.glob("*.json"):
        board: dict[str, Any] = yaml.safe_load(path.read_text())
        panels = [each for each in board["panels"] if each["type"] != "row"]
        assert all(each["description"] and each["title"] for each in panels)
        sources = {each["uid"] for panel in panels for each in _datasources(panel)}
        assert sources == {"${datasource}"}
        numbers = [each["id"] for each in board["panels"]]
        assert len(numbers) == len(set(numbers))
        for each in panels:
            assert each["gridPos"]["x"] + each["gridPos"]["w"] <= 24, each["title"]


def _datasources(panel: Mapping[str, Any]) -> list[Mapping[str, str]]:
    return [panel["datasource"], *(target["datasource"] for target in panel["targets"])]


def test_dashboards_have_the_variables_that_they_use() -> None:
    """A name that is not filled in would be asked as it stands."""
    for board in read_boards():
        names = {each.name for each in board.templating.list}
        assert {"datasource", "cluster"} <= names
        text = " ".join(target.expr for panel in board.panels for target in panel.targets)
        assert (PROFILE in text) == ("profile" in names), board.uid
        for name in names - {"datasource", "profile"}:
            assert f'"${name}"' in text, (board.uid, name)


def test_both_namings_are_among_the_profiles() -> None:
    """Every other metric of DCGM's is read by name in both."""
    board = next(each for each in read_boards() if each.uid == "kueue-gpu-scaler-use")
    profile = next(each for each in board.templating.list if each.name == "profile")
    titles = [each.text for each in profile.options]
    assert titles == ["any", "dcgm-4.8", "dcgm-4.9"]
    _, older, newer = (set(str(each.value).split("|")) for each in profile.options)
    assert older.isdisjoint(newer)
    assert older | newer <= OTHERS


def test_what_is_shipped_for_scraping_honors_labels() -> None:
    """Else `namespace` would be the service's own in every series."""
    monitors = [
        each
        for path in (ROOT / "deploy" / "components").rglob("*monitor.yaml")
        for each in [yaml.safe_load(path.read_text())]
    ]
    endpoints = [
        endpoint
        for each in monitors
        for key in ("endpoints", "podMetricsEndpoints")
        for endpoint in each["spec"].get(key, ())
    ]
    assert len(endpoints) == len(monitors) == 2
    assert all(endpoint["honorLabels"] is True for endpoint in endpoints)


def test_queue_signals_are_charted_by_the_names_of_their_metrics() -> None:
    """A name that no trigger has would be an empty chart."""
    metadata = {"signal": "queue", "clusterQueue": "research", "gpusPerNode": "8"}
    name = metric_name(TriggerRef.of(namespace="n", name="so", metadata=metadata))
    patterns = {
        found for text in EXPRESSIONS.values() for found in re.findall(r'metric=~"(.*?)"', text)
    }
    assert len(patterns) == 1
    assert all(re.fullmatch(pattern, name) for pattern in patterns)


def test_the_rules_are_one_object_that_the_kustomization_loads() -> None:
    """Of the Prometheus Operator's kind."""
    folder: Path = ROOT / "deploy" / "monitoring"
    loaded: dict[str, Any] = yaml.safe_load((folder / "kustomization.yaml").read_text())
    (name,) = loaded["resources"]
    rules: dict[str, Any] = yaml.safe_load((folder / name).read_text())
    assert rules["kind"] == "PrometheusRule"
    assert all(group["name"].startswith("kueue-gpu-scaler.") for group in rules["spec"]["groups"])
