"""What the API's bodies become."""

import json
import math

import pytest

from scaler.prometheus.vector import (
    ForeignAnswerError,
    QueryFailedError,
    decode_answer,
    describe_error,
)


def body(result_type: str, result: object, **more: object) -> bytes:
    """Write a success as the API does."""
    data = {"resultType": result_type, "result": result}
    return json.dumps({"status": "success", "data": data, **more}).encode()


def test_a_vector_keeps_labels_and_values_but_not_the_time_of_evaluation() -> None:
    """A vector keeps labels and values but not the time of evaluation."""
    rows = [{"metric": {"__name__": "up", "job": "a"}, "value": [1790000000.781, "0.25"]}]
    (sample,) = decode_answer(body("vector", rows)).vector
    assert sample.labels == {"__name__": "up", "job": "a"}
    assert sample.value == 0.25


@pytest.mark.parametrize(("text", "value"), [("+Inf", math.inf), ("-Inf", -math.inf)])
def test_infinite_values_are_read_and_are_not_finite(text: str, value: float) -> None:
    """Infinite values are read and are not finite."""
    (sample,) = decode_answer(body("vector", [{"metric": {}, "value": [1, text]}])).vector
    assert sample.value == value
    assert not sample.finite


def test_nan_and_native_histograms_read_as_no_number() -> None:
    """NaN and native histograms read as no number."""
    rows = [{"metric": {}, "value": [1, "NaN"]}, {"metric": {}, "histogram": [1, {"sum": "1"}]}]
    answer = decode_answer(body("vector", rows))
    assert [math.isnan(sample.value) for sample in answer.vector] == [True, True]


def test_a_scalar_is_one_row_without_labels() -> None:
    """A scalar is one row without labels."""
    (sample,) = decode_answer(body("scalar", [1790000000, "3"])).vector
    assert (sample.labels, sample.value) == ({}, 3.0)


def test_warnings_are_a_problem_and_infos_are_not() -> None:
    """Warnings are a problem and infos are not."""
    warned = decode_answer(body("vector", [], warnings=["store a is down", "b too"], infos=["x"]))
    assert warned.problem == "warnings: store a is down; b too"
    assert decode_answer(body("vector", [], infos=["x"])).problem is None
    assert decode_answer(body("vector", [], warnings=None)).problem is None


def test_a_range_vector_is_refused_by_its_name() -> None:
    """A range vector is refused by its name."""
    with pytest.raises(QueryFailedError, match="the answer is a matrix"):
        decode_answer(body("matrix", []))


@pytest.mark.parametrize(
    "rows",
    [
        [{"metric": {"a": 1}, "value": [1, "1"]}],
        [{"metric": {}, "value": [1, "one"]}],
        [{"metric": {}, "value": [1]}],
        {"metric": {}},
    ],
)
def test_rows_of_another_shape_fail_as_a_whole(rows: object) -> None:
    """Rows of another shape fail as a whole."""
    with pytest.raises(QueryFailedError, match="rows can't be read"):
        decode_answer(body("vector", rows))


@pytest.mark.parametrize(
    "text", [b"", b"<html>Log in</html>", b'{"status":', b"[]", b'{"data":{}}', b"\xff\xfe"]
)
def test_what_is_not_the_apis_json_is_told_from_a_failed_query(text: bytes) -> None:
    """What is not the API's JSON is told from a failed query."""
    with pytest.raises(ForeignAnswerError):
        decode_answer(text)


def test_an_error_sent_with_200_is_an_error() -> None:
    """An error sent with 200 is an error."""
    text = b'{"status":"error","errorType":"execution","error":"found duplicate series"}'
    with pytest.raises(QueryFailedError, match="execution: found duplicate series"):
        decode_answer(text)


def test_an_error_keeps_its_type_and_message() -> None:
    """An error keeps its type and message."""
    text = b'{"status":"error","errorType":"timeout","error":"query timed out"}'
    told = describe_error(status=503, body=text)
    assert told.error_type == "timeout"
    assert told.sentence == "HTTP 503, timeout: query timed out"


def test_a_proxys_page_is_cut_to_a_sentence() -> None:
    """A proxys page is cut to a sentence."""
    told = describe_error(status=502, body=b"<html>\n<h1>Bad   Gateway</h1>" + b"x" * 10_000)
    assert told.error_type == ""
    assert told.sentence.startswith("HTTP 502, not from the Prometheus API: <html> <h1>Bad Gateway")
    assert len(told.sentence) < 200
    assert describe_error(status=503, body=b"").sentence.endswith("empty body")
