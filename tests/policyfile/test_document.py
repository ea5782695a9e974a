"""YAML gives plain values, without surprises, and never more than a problem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.policyfile.document import Tree, read_documents, shown, written


def read(text: str) -> Tree:
    """Read the one document of a text without problems."""
    documents, problems = read_documents(text)
    assert not problems
    (document,) = documents
    return document


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("10:30", "10:30"),
        ("08:00", "08:00"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("010", "010"),
        ("2026-01-31", "2026-01-31"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("=", "="),
        ("<<", "<<"),
        ("30m", "30m"),
        ("true", True),
        ("True", "True"),
        ("~", None),
        ("null", None),
        ("-5", -5),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("'1'", "1"),
        ("[1, a]", (1, "a")),
        ("{1: 2}", {"1": 2}),
        ("[&x {a: 1}, *x]", ({"a": 1}, {"a": 1})),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars(text: str, want: Tree) -> None:
    """Only true, false, null and decimal numbers are not text."""
    found = read(text)
    assert found == want
    assert type(found) is type(want)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nb: 2\na: 3", "a"),
        ("x:\n  y: {z: 1, z: 2}", "x.y.z"),
        ("x: [{a: 1, a: 1}]", "x[0].a"),
        ("{[a]: 1}", "(document)"),
        ("a: !secret b", "a"),
    ],
)
def test_what_yaml_would_let_pass(text: str, place: str) -> None:
    """Duplicate keys, keys that are no text, and tags are problems at their place."""
    _, problems = read_documents(text)
    assert [problem.path for problem in problems] == [place]


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: *nowhere",
        "a: &a [*a]",
        "a:\n\t- b",
        '"\\UFFFFFFFF"',
        "\x00",
        "[" * 1000,
        "%YAML 9.9\n---\na: 1",
        "#" * (1024 * 1024 + 1),
    ],
)
def test_what_is_no_yaml(text: str) -> None:
    """A text that can't be read is one problem, whatever is wrong with it."""
    documents, problems = read_documents(text)
    assert documents == ()
    assert len(problems) == 1


def test_syntax_problem_keeps_the_signs_of_yaml() -> None:
    """What is expected is said as YAML says it."""
    _, (problem,) = read_documents("a: {b: 1\n")
    assert problem.allowed == "it is not YAML: expected ',' or '}', but got '<stream end>'"


def test_syntax_problem_names_the_place_only() -> None:
    """The line is never quoted: it may hold a secret."""
    _, (problem,) = read_documents("a: 1\nheaders: {Authorization: Bearer hunter2: x")
    assert problem.path.startswith("line 2, column ")
    _, (alias,) = read_documents("Authorization: *hunter2")
    assert "hunter2" not in f"{problem}{alias}"


@given(st.text())
def test_any_text(text: str) -> None:
    """Any text gives documents and problems."""
    documents, problems = read_documents(text)
    assert documents or problems or not text.strip() or "#" in text or text.isspace()


def test_paths_and_values_for_people() -> None:
    """A path reads like code, a long value is cut, a container is named by its sort."""
    assert written(("pools", "a100", "node", "nvidia.com/gpu")) == (
        'pools.a100.node["nvidia.com/gpu"]'
    )
    assert written(("days", 0)) == "days[0]"
    assert written(()) == "(document)"
    values: list[Tree] = [None, True, 1.5, "x" * 100, {}, []]
    want = ["null", "true", "1.5", "x" * 80, "a mapping", "a list"]
    assert [shown(value) for value in values] == want
