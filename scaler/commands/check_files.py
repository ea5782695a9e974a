"""Sort the documents of files into what `check` judges: policies, ScaledObjects, their company."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from scaler.core.policy import Policy
from scaler.core.trigger import Problem
from scaler.policyfile import parse_policy, read_policy
from scaler.policyfile.document import Tree, read_documents, written

POLICY_KEY = "policy.yaml"
"""The key of a ConfigMap that holds a policy (or any that ends so)."""


class Severity(StrEnum):
    """Whether a finding makes the files bad."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or that may surprise: where, what it is, what is allowed."""

    severity: Severity
    file: str
    subject: str
    """`ScaledObject team-a/llm`, `ConfigMap gpu/policy`; empty for a policy file itself."""
    problem: Problem

    def __str__(self) -> str:
        parts = [self.file, *([self.subject] if self.subject else []), self.severity]
        said = self.problem
        if self.severity is Severity.ERROR:
            return f"{': '.join(parts)}: {said}"
        value = f" is {str(said.value)!r}" if said.value else ""
        return f"{': '.join(parts)}: {said.path}{value}: {said.allowed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A Kubernetes object of a file."""

    file: str
    kind: str
    namespace: str
    """Empty where the file leaves it to kubectl."""
    name: str
    tree: Mapping[str, Tree]

    @property
    def subject(self) -> str:
        """Name it for people."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name or '(without a name)'}"

    def error(self, path: tuple[str | int, ...], *, value: str, allowed: str) -> Finding:
        """Find an error in it."""
        problem = Problem(path=written(path), value=value, allowed=allowed)
        return self.finding(Severity.ERROR, problem)

    def warning(self, path: tuple[str | int, ...], *, value: str, allowed: str) -> Finding:
        """Find something in it that may surprise."""
        problem = Problem(path=written(path), value=value, allowed=allowed)
        return self.finding(Severity.WARNING, problem)

    def finding(self, severity: Severity, problem: Problem) -> Finding:
        """Find a problem in it."""
        return Finding(severity=severity, file=self.file, subject=self.subject, problem=problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What files hold, as far as it is judged."""

    policies: tuple[Policy, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    """ScaledObjects, ScaledJobs, WorkerScales, StatefulSets and InferenceServices."""
    findings: tuple[Finding, ...] = field(default=())
    read: int = 0
    """Policies read, good or bad."""


def at(tree: Tree, *path: str) -> Tree:
    """Give the value under a path of keys; None where it is missing or null."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def read_files(texts: Iterable[tuple[str, str]]) -> Checked:
    """Read (file name, text) pairs."""
    found = Checked()
    for file, text in texts:
        found = _joined(found, _read_file(file, text))
    return found


def _joined(left: Checked, right: Checked) -> Checked:
    return Checked(
        policies=left.policies + right.policies,
        manifests=left.manifests + right.manifests,
        findings=left.findings + right.findings,
        read=left.read + right.read,
    )


def _read_file(file: str, text: str) -> Checked:
    documents, problems = read_documents(text)
    if problems and not documents:
        return Checked(findings=_errors(file, "", problems))
    full = [document for document in documents if document is not None]
    if len(documents) <= 1 and not any(_is_manifest(document) for document in full):
        return _policy(file, "", parse_policy(text))  # its own words for an empty file
    found = Checked(findings=_errors(file, "", problems))
    for document in full:
        found = _joined(found, _read_document(file, document))
    return found


def _is_manifest(document: Tree) -> bool:
    return isinstance(document, Mapping) and "kind" in document and "apiVersion" in document


def _read_document(file: str, document: Tree) -> Checked:
    if not isinstance(document, Mapping) or not _is_manifest(document):
        return _policy(file, "", read_policy(document))
    items = document.get("items")
    if str(document["kind"]).endswith("List") and isinstance(items, list | tuple):
        found = Checked()
        for item in items:
            if _is_manifest(item):
                found = _joined(found, _read_document(file, item))
        return found
    manifest = Manifest(
        file=file,
        kind=str(document["kind"]),
        namespace=str(at(document, "metadata", "namespace") or ""),
        name=str(at(document, "metadata", "name") or ""),
        tree=document,
    )
    match manifest.kind:
        case "ConfigMap":
            return _config_map(manifest)
        case "ScaledObject" | "ScaledJob" | "StatefulSet" | "WorkerScale" | "InferenceService":
            return Checked(manifests=(manifest,))
        case _:
            return Checked()


def _config_map(manifest: Manifest) -> Checked:
    entries = at(manifest.tree, "data")
    found = Checked()
    for key, text in entries.items() if isinstance(entries, Mapping) else ():
        if key.endswith(POLICY_KEY) and isinstance(text, str):
            parsed = parse_policy(text)
            if not isinstance(parsed, Policy):
                parsed = tuple(
                    replace(problem, path=f"{written(('data', key))}: {problem.path}")
                    for problem in parsed
                )
            found = _joined(found, _policy(manifest.file, manifest.subject, parsed))
    return found


def _policy(file: str, subject: str, parsed: Policy | tuple[Problem, ...]) -> Checked:
    if isinstance(parsed, Policy):
        return Checked(policies=(parsed,), read=1)
    return Checked(findings=_errors(file, subject, parsed), read=1)


def _errors(file: str, subject: str, problems: Iterable[Problem]) -> tuple[Finding, ...]:
    return tuple(
        Finding(severity=Severity.ERROR, file=file, subject=subject, problem=problem)
        for problem in problems
    )
