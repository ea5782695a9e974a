"""The command reads paths, prints what it found, and says in its exit code how it ended."""

import argparse
import io
import json
from pathlib import Path

import pytest

from scaler.commands import check
from scaler.policyfile import schema
from tests.commands.test_check_rules import IDLE, POOL, edited, put

DEPLOY = Path(__file__).parents[2] / "deploy"


def run(*arguments: str) -> tuple[int, str]:
    """Run the command; give its exit code and output."""
    parser = argparse.ArgumentParser()
    check.add_parser(parser.add_subparsers())
    out = io.StringIO()
    args = parser.parse_args(["check", *arguments])
    return check.run(args, out), out.getvalue()


def test_clean(tmp_path: Path) -> None:
    """Good files exit 0 and are counted."""
    policy, scaled = tmp_path / "policy.yaml", tmp_path / "so.json"
    policy.write_text("{}")
    scaled.write_text(json.dumps(IDLE))
    assert run(str(policy), str(scaled)) == (
        0,
        "policies: 1, ScaledObjects: 1, errors: 0, warnings: 0\n",
    )


def test_names_of_others_command_no_terminal(tmp_path: Path) -> None:
    """A file to be checked may be anybody's."""
    scaled = tmp_path / "so.json"
    document = json.loads(json.dumps(IDLE))
    document["metadata"]["name"] = "a\x1b[2Jb\u202e"
    document["spec"]["triggers"][0]["metadata"]["idleAfter"] = "soon"
    scaled.write_text(json.dumps(document))
    code, text = run(str(scaled))
    assert code == 2
    assert "\N{REPLACEMENT CHARACTER}[2Jb" in text
    assert text.replace("\n", "").isprintable()


def test_files_without_anything_to_judge() -> None:
    """A wrong path does not look like a good file."""
    service = DEPLOY / "base" / "service.yaml"
    code, text = run(str(service))
    assert code == 0
    nothing = "no policy, ScaledObject or WorkerScale among them"
    assert text.splitlines() == [
        f"{service}: warning: (files): {nothing}",
        "policies: 0, ScaledObjects: 0, errors: 0, warnings: 1",
    ]


def test_a_value_that_is_missing_is_not_quoted(tmp_path: Path) -> None:
    """What must be there is said to be required, and no empty text is blamed."""
    (tmp_path / "policy.yaml").write_text("pools: {a: {maxNodes: 1, node: {cpu: 1}}}")
    _, text = run(str(tmp_path))
    assert "error: pools.a.nodeSelector: it is required" in text
    assert "''" not in text


def test_all_problems_of_all_files(tmp_path: Path) -> None:
    """Errors of every file come in one run, and exit 2; a missing file is one of them."""
    (tmp_path / "policy.yaml").write_text("defaults: {idle_time: 5}")
    (tmp_path / "so.yml").write_text(json.dumps(edited(IDLE, put("spec.fallback", {"a": 1}))))
    (tmp_path / "notes.txt").write_text("not read")
    code, text = run(str(tmp_path), str(tmp_path / "gone.yaml"))
    assert code == 2
    lines = text.splitlines()
    assert lines[0].endswith(
        "gone.yaml' is not allowed; it can't be read: No such file or directory"
    )
    assert "policy.yaml: error: defaults.idle_time: '5' is not allowed; the key is unknown" in text
    assert "so.yml: ScaledObject team-a/chat: error: spec.fallback: 'a mapping'" in text
    assert lines[-1] == "policies: 1, ScaledObjects: 1, errors: 3, warnings: 0"


def test_warnings_alone(tmp_path: Path) -> None:
    """Warnings are printed and exit 0."""
    path = tmp_path / "so.yaml"
    path.write_text(json.dumps(edited(IDLE, put("spec.cooldownPeriod", 30))))
    code, text = run(str(path))
    assert code == 0
    assert "warning: spec.cooldownPeriod is '30': below 300 seconds" in text


def test_json(tmp_path: Path) -> None:
    """With -o json each finding is an object."""
    path = tmp_path / "so.yaml"
    path.write_text(json.dumps(edited(POOL, put("spec.fallback", {"replicas": 0}))))
    code, text = run(str(path), "-o", "json")
    assert code == 2
    whole = json.loads(text)
    assert (whole["errors"], whole["warnings"]) == (1, 0)
    (finding,) = whole["findings"]
    assert finding.pop("allowed").startswith("leave it out")
    assert finding == {
        "severity": "error",
        "file": str(path),
        "object": "ScaledObject clusters/gpu-a100",
        "path": "spec.fallback",
        "value": "a mapping",
    }


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input."""
    monkeypatch.setattr("sys.stdin", io.StringIO("defaults: {idleAfter: x}"))
    code, text = run("-")
    assert code == 2
    assert text.startswith("stdin: error: defaults.idleAfter")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A file that is not UTF-8 is an error of that file."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe")
    code, text = run(str(path))
    assert code == 2
    assert "it must be UTF-8 text" in text


def test_schema() -> None:
    """--schema prints the schema and needs no path."""
    assert run("--schema") == (0, schema())


def test_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a path it says what it takes, on standard error."""
    assert run() == (2, "")
    assert "check takes at least one PATH" in capsys.readouterr().err


def test_what_is_shipped() -> None:
    """The shipped policy and examples have no errors when they are checked together."""
    code, text = run(str(DEPLOY / "base" / "policy.yaml"), str(DEPLOY / "examples"))
    assert code == 0, text
