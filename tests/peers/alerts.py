"""Try the alerts and recording rules with promtool, on series of each case."""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import yaml

from tests.golang import ROOT
from tests.peers.alert_cases import CASES, RECORDED, Case, Recorded
from tests.report import Report

RULES = ROOT / "deploy" / "monitoring" / "prometheusrule.yaml"
_LABEL = re.compile(r"\{\{ \$labels\.(\w+) \}\}")
_VALUE = re.compile(r"\{\{ \$value(?: \| \w+)? \}\}")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A recording rule or an alert."""

    expr: str
    alert: str = ""
    record: str = ""
    hold: str = msgspec.field(name="for", default="")
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group of rules."""

    name: str
    rules: tuple[Rule, ...]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What Prometheus itself reads."""

    groups: tuple[Group, ...]


class _PrometheusRule(msgspec.Struct, frozen=True, kw_only=True):
    spec: Rules


def shipped() -> tuple[Rule, ...]:
    """Give all rules that are shipped."""
    read = msgspec.convert(yaml.safe_load(RULES.read_text()), _PrometheusRule)
    return tuple(rule for group in read.spec.groups for rule in group.rules)


def rule_file() -> str:
    """Give the shipped rules as Prometheus itself reads them."""
    return yaml.safe_dump(yaml.safe_load(RULES.read_text())["spec"], sort_keys=False)


def run(report: Report, *, promtool: Path) -> None:
    """Check the rules, and play every case."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "rules.yaml").write_text(rule_file())
        (folder / "cases.yaml").write_text(yaml.safe_dump(_cases(), sort_keys=False, width=1000))
        for title, words in (
            ("promtool takes the rules", ["check", "rules", "rules.yaml"]),
            (
                f"{len(CASES)} cases of alerts and {len(RECORDED)} of records are as expected",
                ["test", "rules", "cases.yaml"],
            ),
        ):
            command = [str(promtool), *words]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            said = (done.stdout + done.stderr)[-4000:]
            report.check(title, ok=done.returncode == 0, found=said)


def _cases() -> dict[str, object]:
    rules = {rule.alert: rule for rule in shipped() if rule.alert}
    return {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            *(_alert_test(case, rules[case.alert]) for case in CASES),
            *(_record_test(each) for each in RECORDED),
        ],
    }


def _alert_test(case: Case, rule: Rule) -> dict[str, object]:
    expected = [
        {
            "exp_labels": {**labels, **rule.labels},
            "exp_annotations": dict(_rendered(rule.annotations.items(), labels, case.value)),
        }
        for labels in case.fires
    ]
    test = {"eval_time": case.at, "alertname": case.alert, "exp_alerts": expected}
    return {**_input(f"{case.alert}: {case.name}", case.series), "alert_rule_test": [test]}


def _record_test(each: Recorded) -> dict[str, object]:
    samples = [
        {"labels": _named(each.expression, labels), "value": value}
        for labels, value in each.samples.items()
    ]
    test = {"expr": each.expression, "eval_time": each.at, "exp_samples": samples}
    return {**_input(f"{each.expression}: {each.name}", each.series), "promql_expr_test": [test]}


def _named(expression: str, labels: str) -> str:
    return labels if not labels.startswith("{") else f"{expression}{labels}"


def _input(name: str, series: Mapping[str, str]) -> dict[str, object]:
    given = [{"series": one, "values": values} for one, values in series.items()]
    return {"name": name, "interval": "1m", "input_series": given}


def _rendered(
    annotations: Iterable[tuple[str, str]], labels: Mapping[str, str], value: str
) -> Iterable[tuple[str, str]]:
    """Fill labels and the value in, as Prometheus does."""
    for name, text in annotations:
        filled = _LABEL.sub(lambda found: labels.get(found[1], ""), text)
        yield name, _VALUE.sub(value, filled)
