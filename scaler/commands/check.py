"""`check`: policies, ScaledObjects and WorkerScales, before they are applied."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scaler.commands.arguments import (
    Commands,
    Exit,
    add_cluster_arguments,
    examples,
    plain,
    refuse,
)

if TYPE_CHECKING:
    from scaler.commands.check_files import Checked, Finding

_STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="judge policies, ScaledObjects and WorkerScales before they are applied",
        description="Judge policy files, ConfigMaps with a policy.yaml, ScaledObjects and "
        "WorkerScales; files that are given together are judged together, and with --live together "
        "with what is in the cluster. Exit 0 when all is well, warnings allowed; 2 with errors.",
        epilog=examples(
            "check policy.yaml scaledobject.yaml",
            "check - < scaledobjects.yaml",
            "check --live --all-namespaces",
            "check --live -n team-a new-policy.yaml",
            "check --schema > policy.schema.json",
        ),
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a YAML or JSON file, a folder of them (not its subfolders), - for stdin",
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of a policy file instead"
    )
    parser.add_argument(
        "--live", action="store_true", help="judge what is in the cluster too, as it is now"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-n", "--namespace", metavar="NAMESPACE", help="with --live: tell of this one alone"
    )
    where.add_argument(
        "-A", "--all-namespaces", action="store_true", help="with --live: the default"
    )
    add_cluster_arguments(parser)
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Check; exit 0 clean or with warnings, 2 with errors."""
    if args.schema:
        from scaler.policyfile import schema

        out.write(schema())
        return Exit.DONE
    if not args.paths and not args.live:
        return refuse("check takes at least one PATH, - for stdin, --live or --schema")
    from scaler.commands.check_files import Severity, read_files
    from scaler.commands.check_live import of_cluster, within
    from scaler.kube.credentials import NoClusterError
    from scaler.live import UnreadableError

    texts, unreadable = _texts(args.paths)
    try:
        live, unread = of_cluster(args) if args.live else ((), ())
    except (NoClusterError, UnreadableError) as error:
        return refuse(str(error))
    checked = read_files((*texts, *live))
    found = within(args.namespace, all_findings(checked)) if args.live else all_findings(checked)
    nothing = () if args.live or found else _nothing(args.paths, checked)
    findings = (*unreadable, *unread, *found, *nothing)
    if args.output == "json":
        _print_json(findings, out)
    else:
        _print_text(findings, checked, out)
    return Exit.BAD_INPUT if any(one.severity is Severity.ERROR for one in findings) else Exit.DONE


def all_findings(checked: "Checked") -> "tuple[Finding, ...]":
    """Give every finding: what can't be read, each object by itself, then all together."""
    from scaler.commands.check_company import judge_company
    from scaler.commands.check_rules import judge
    from scaler.commands.check_scales import judge_scale
    from scaler.commands.check_scales_company import judge_scales_together
    from scaler.commands.check_targets import judge_target

    return (
        *checked.findings,
        *(
            finding
            for manifest in checked.manifests
            for by_itself in (judge, judge_target, judge_scale)
            for finding in by_itself(manifest)
        ),
        *judge_company(checked),
        *judge_scales_together(checked),
    )


def _texts(paths: Sequence[str]) -> "tuple[list[tuple[str, str]], list[Finding]]":
    """Read files; one that can't be read is a finding, and the others are read all the same."""
    texts: list[tuple[str, str]] = []
    unreadable: list[Finding] = []
    for name in _expanded(paths):
        try:
            text = sys.stdin.read() if name == _STDIN else Path(name).read_text("utf-8-sig")
        except UnicodeDecodeError:
            unreadable.append(_unreadable(name, "it must be UTF-8 text"))
        except OSError as error:
            unreadable.append(_unreadable(name, f"it can't be read: {error.strerror or error}"))
        else:
            texts.append(("stdin" if name == _STDIN else name, text))
    return texts, unreadable


def _expanded(paths: Sequence[str]) -> Iterator[str]:
    """Give the files of folders, sorted, those of folders within left out."""
    for name in paths:
        if name != _STDIN and Path(name).is_dir():
            yield from sorted(
                str(file) for file in Path(name).iterdir() if file.suffix in _SUFFIXES
            )
        else:
            yield name


def _unreadable(name: str, reason: str) -> "Finding":
    from scaler.commands.check_files import Finding, Severity
    from scaler.core.trigger import Problem

    problem = Problem(path="(file)", value=name, allowed=reason)
    return Finding(severity=Severity.ERROR, file=name, subject="", problem=problem)


def _nothing(paths: Sequence[str], checked: "Checked") -> "tuple[Finding, ...]":
    """Warn where there was nothing to judge: a wrong path must not look like a good file."""
    from scaler.commands.check_files import Finding, Severity
    from scaler.core.trigger import Problem

    if checked.read or checked.manifests:
        return ()
    problem = Problem(
        path="(files)", value="", allowed="no policy, ScaledObject or WorkerScale among them"
    )
    file = ", ".join(paths)
    return (Finding(severity=Severity.WARNING, file=file, subject="", problem=problem),)


def _counts(findings: "Sequence[Finding]") -> tuple[int, int]:
    from scaler.commands.check_files import Severity

    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    return errors, len(findings) - errors


def _print_text(findings: "Sequence[Finding]", checked: "Checked", out: TextIO) -> None:
    for finding in findings:
        print(plain(str(finding)), file=out)
    errors, warnings = _counts(findings)
    objects, scales = (
        sum(one.kind == kind for one in checked.manifests)
        for kind in ("ScaledObject", "WorkerScale")
    )
    handles = f"WorkerScales: {scales}, " if scales else ""
    print(
        f"policies: {checked.read}, ScaledObjects: {objects}, {handles}"
        f"errors: {errors}, warnings: {warnings}",
        file=out,
    )


def _print_json(findings: "Sequence[Finding]", out: TextIO) -> None:
    errors, warnings = _counts(findings)
    listed = [
        {
            "severity": finding.severity,
            "file": finding.file,
            "object": finding.subject,
            "path": finding.problem.path,
            "value": finding.problem.value,
            "allowed": finding.problem.allowed,
        }
        for finding in findings
    ]
    whole = {"errors": errors, "warnings": warnings, "findings": listed}
    print(json.dumps(whole, indent=2, ensure_ascii=False), file=out)
