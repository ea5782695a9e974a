"""Ask the queries of the shipped dashboards, as Grafana would."""

import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import requests

from tests.e2e.api import Object
from tests.kustomized import DEPLOY

BOARDS = DEPLOY / "grafana"
LOOKS_BACK = 900
"""Seconds that a dashboard shows."""
STEP = 15
TIMEOUT = 30.0
VALUES: Mapping[str, str] = {
    "$__rate_interval": "1m",
    "$__range": f"{LOOKS_BACK}s",
    "$cluster_queue": ".*",
    "$cluster": "e2e",
    "$namespace": ".*",
    "$scaled_object": ".*",
}
"""What Grafana fills in; no name begins with one before it."""
PROFILE = "${profile:raw}"
_LABEL_VALUES = re.compile(r"label_values\((?P<metric>.+), (?P<label>\w+)\)")


class _Target(msgspec.Struct, frozen=True):
    expr: str
    refId: str = ""  # noqa: N815 - Grafana's name
    instant: bool = False


class _Panel(msgspec.Struct, frozen=True):
    title: str = ""
    targets: tuple[_Target, ...] = ()


class _Option(msgspec.Struct, frozen=True):
    text: str | list[str] = ""
    value: str | list[str] = ""


class _Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    query: str | Object = ""
    options: tuple[_Option, ...] = ()


class _Templating(msgspec.Struct, frozen=True):
    list: tuple[_Variable, ...] = ()


class Board(msgspec.Struct, frozen=True):
    """A dashboard as it is shipped, in the parts that ask."""

    uid: str
    panels: tuple[_Panel, ...]
    templating: _Templating


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One query of a panel or variable, with everything filled in."""

    name: str
    query: str
    label: str = ""
    """Of a variable: the label whose values are asked for."""
    ranged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of it."""

    question: Question
    series: int
    """With at least one number, or values of a label."""
    seconds: float


def read_boards(folder: Path = BOARDS) -> tuple[Board, ...]:
    """Read all dashboards that are shipped."""
    files = sorted(folder.glob("*.json"))
    return tuple(msgspec.json.decode(each.read_bytes(), type=Board) for each in files)


def questions(folder: Path = BOARDS) -> Iterator[Question]:
    """Give every query of every dashboard, those of DCGM once for each naming."""
    for board in read_boards(folder):
        for variable in board.templating.list:
            if variable.type == "query":
                yield _of_variable(board, variable)
        for panel in board.panels:
            for target in panel.targets:
                yield from _of_target(board, panel, target)


def _of_variable(board: Board, variable: _Variable) -> Question:
    found = _LABEL_VALUES.fullmatch(str(variable.query))
    assert found, f"{board.uid}: {variable.query} is no label_values"
    return Question(
        name=f"{board.uid}: variable {variable.name}",
        query=filled(found["metric"]),
        label=found["label"],
    )


def _of_target(board: Board, panel: _Panel, target: _Target) -> Iterator[Question]:
    profiles = {"": ""}
    if PROFILE in target.expr:
        own = next(each for each in board.templating.list if each.name == "profile")
        profiles = {f" ({each.text})": str(each.value) for each in own.options}
    for suffix, value in profiles.items():
        yield Question(
            name=f"{board.uid}: {panel.title} {target.refId}{suffix}",
            query=filled(target.expr, profile=value),
            ranged=not target.instant,
        )


def filled(expression: str, *, profile: str = "") -> str:
    """Fill in what Grafana does."""
    for name, value in {PROFILE: profile, **VALUES}.items():
        expression = expression.replace(name, value)
    assert "$cluster" not in expression, expression
    return expression


def ask(url: str, question: Question) -> Answer | None:
    """Ask one question; None where it has no data, that is no number but NaN.

    Raises:
        AssertionError: Prometheus refuses the query, or has warnings.
    """
    began = time.monotonic()
    now = time.time()
    parameters: dict[str, str | float] = {"query": question.query}
    if question.label:
        path = f"label/{question.label}/values"
        parameters = {"match[]": question.query}
    elif question.ranged:
        path = "query_range"
        parameters |= {"start": now - LOOKS_BACK, "end": now, "step": STEP}
    else:
        path = "query"
    answer = requests.get(f"{url}/api/v1/{path}", params=parameters, timeout=TIMEOUT).json()
    assert answer["status"] == "success", f"{question.name}: {answer}\n{question.query}"
    assert not answer.get("warnings"), f"{question.name}: {answer['warnings']}"
    series = len(answer["data"]) if question.label else _series(answer["data"]["result"])
    if not series:
        return None
    return Answer(question=question, series=series, seconds=time.monotonic() - began)


def _series(result: list[Object]) -> int:
    """Count the series that have a number."""
    samples = (each.get("values") or [each["value"]] for each in result)
    return sum(any(not math.isnan(float(value)) for _, value in each) for each in samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What Prometheus does with the rules."""

    rules: int
    seconds: float
    """Of the last round."""

    def __str__(self) -> str:
        return f"{self.rules} rules evaluated in {self.seconds * 1000:.0f} ms"


def rules_at_work(url: str) -> Work:
    """Count the rules that Prometheus evaluates.

    Raises:
        AssertionError: one of them fails.
    """
    answer = requests.get(f"{url}/api/v1/rules", timeout=TIMEOUT).json()
    groups = answer["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    failing = [f"{each['name']}: {each['lastError']}" for each in rules if each.get("lastError")]
    assert not failing, "\n".join(failing)
    assert all(each["health"] == "ok" for each in rules), rules
    return Work(rules=len(rules), seconds=sum(each["evaluationTime"] for each in groups))
