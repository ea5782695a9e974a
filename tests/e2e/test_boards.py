"""The queries of dashboards are asked as Grafana would, and an answer without a number is none."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e.boards import Question, ask, filled, questions, rules_at_work


@contextmanager
def prometheus(answer: object) -> Iterator[tuple[str, list[str]]]:
    """Give the URL of one that always answers the same, and the paths that it is asked."""
    paths: list[str] = []

    class Always(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Always)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", paths
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def vector(*values: str) -> object:
    """Give an instant answer with a series for each value."""
    result = [{"metric": {}, "value": [0, value]} for value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


QUESTION = Question(name="board: panel A", query="x")


def test_each_query_of_the_dashboards_is_a_question_of_its_own() -> None:
    """Those of DCGM once for each naming; nothing is left to be filled in."""
    asked = tuple(questions())
    names = [each.name for each in asked]
    assert len(names) == len(set(names)) > 70
    assert sum("(dcgm-4.9)" in name for name in names) == 5
    assert any(each.label == "namespace" for each in asked)
    assert not [each for each in asked if "$_" in each.query or "${" in each.query]
    assert {each.ranged for each in asked} == {True, False}


def test_what_grafana_fills_in_is_filled_in() -> None:
    """`$1` is the expression's own."""
    text = 'f(x{cluster_queue=~"$cluster_queue", cluster=~"$cluster"}[$__rate_interval], "$1")'
    assert filled(text) == 'f(x{cluster_queue=~".*", cluster=~"e2e"}[1m], "$1")'


@pytest.mark.parametrize("values", [(), ("NaN", "NaN")])
def test_no_series_and_no_number_are_no_data(values: tuple[str, ...]) -> None:
    """A quantile of nothing is NaN."""
    with prometheus(vector(*values)) as (url, _):
        assert ask(url, QUESTION) is None


def test_series_with_numbers_are_counted() -> None:
    """And the question is asked of one moment."""
    with prometheus(vector("NaN", "0", "3")) as (url, paths):
        found = ask(url, QUESTION)
    assert found is not None
    assert found.series == 2
    assert paths[0].startswith("/api/v1/query?")


def test_a_variable_asks_for_the_values_of_its_label() -> None:
    """Each value counts."""
    with prometheus({"status": "success", "data": ["a", "b"]}) as (url, paths):
        found = ask(url, Question(name="v", query="x", label="namespace"))
    assert found is not None
    assert found.series == 2
    assert paths[0].startswith("/api/v1/label/namespace/values?")


def test_the_rules_that_work_are_counted_with_their_time() -> None:
    """Of all groups."""
    group = {"rules": [{"name": "r", "health": "ok"}], "evaluationTime": 0.25}
    with prometheus({"status": "success", "data": {"groups": [group, group]}}) as (url, _):
        assert str(rules_at_work(url)) == "2 rules evaluated in 500 ms"


def test_a_refused_query_and_a_failing_rule_are_failures() -> None:
    """They are no lack of data, for which one could wait."""
    error = {"status": "error", "error": "parse error"}
    with prometheus(error) as (url, _), pytest.raises(AssertionError, match="parse error"):
        ask(url, QUESTION)
    rule = {"name": "r", "health": "err", "lastError": "many-to-many"}
    found = {"status": "success", "data": {"groups": [{"rules": [rule]}]}}
    with prometheus(found) as (url, _), pytest.raises(AssertionError, match="many-to-many"):
        rules_at_work(url)
