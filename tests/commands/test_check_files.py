"""Files are sorted into policies and objects, whatever they come in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.commands.check import all_findings
from scaler.commands.check_files import Checked, Severity, at, read_files

SCALED = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat, namespace: team-a}
spec: {scaleTargetRef: {name: chat}, triggers: []}
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: policy, namespace: gpu}
data:
  other.yaml: "nope: 1"
  policy.yaml: |
    defaults: {idleAfter: 45m}
"""


def read(*texts: str) -> Checked:
    """Read texts as files f0, f1, ..."""
    return read_files((f"f{place}", text) for place, text in enumerate(texts))


def test_policy_file() -> None:
    """A document without kind is a policy."""
    found = read("defaults: {idleAfter: 45m}", "{}")
    assert [policy.defaults.idle_after for policy in found.policies] == [2700.0, 1800.0]
    assert (found.read, found.findings) == (2, ())


def test_bad_policy_file() -> None:
    """Every problem of a policy is an error of its file."""
    found = read("defaults: {idleAfter: 1s, nope: 1}")
    assert [one.problem.path for one in found.findings] == ["defaults.nope", "defaults.idleAfter"]
    assert {one.severity for one in found.findings} == {Severity.ERROR}
    assert str(found.findings[1]).startswith("f0: error: defaults.idleAfter: '1s' is not allowed;")
    assert (found.policies, found.read) == ((), 1)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_file(text: str) -> None:
    """A file without content is an error, as it is for the service."""
    (finding,) = read(text).findings
    assert finding.problem.value == "empty"


def test_config_map() -> None:
    """A ConfigMap's policy.yaml is a policy, its other keys are not."""
    found = read(CONFIG_MAP)
    assert [policy.defaults.idle_after for policy in found.policies] == [2700.0]
    bad = read(CONFIG_MAP.replace("45m", "soon"))
    (finding,) = bad.findings
    assert finding.subject == "ConfigMap gpu/policy"
    assert finding.problem.path == 'data["policy.yaml"]: defaults.idleAfter'


def test_documents_and_lists() -> None:
    """Several documents, Lists and JSON give the same objects; other kinds are passed over."""
    listed = f"apiVersion: v1\nkind: List\nitems:\n- {json.dumps(at_json(SCALED))}\n- nonsense"
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}"
    found = read(
        f"---\n{SCALED}\n---\n# empty\n---\n{secret}\n---\n{CONFIG_MAP}",
        listed,
        json.dumps(at_json(SCALED)),
        listed.replace("kind: List", "kind: ScaledObjectList"),
    )
    assert [one.subject for one in found.manifests] == ["ScaledObject team-a/chat"] * 4
    assert [one.file for one in found.manifests] == ["f0", "f1", "f2", "f3"]
    assert (found.read, found.findings) == (1, ())


def at_json(text: str) -> object:
    """Turn a YAML object into plain values."""
    (manifest,) = read(text).manifests
    return dict(manifest.tree)


def test_policy_among_objects() -> None:
    """In a file of several documents, one without kind is a policy too."""
    found = read(f"{SCALED}\n---\ndefaults: {{idleAfter: 10m}}")
    assert [policy.defaults.idle_after for policy in found.policies] == [600.0]
    assert len(found.manifests) == 1
    broken = read(f"{SCALED}\n---\n- a")
    assert [one.problem.allowed for one in broken.findings] == ["allowed is a mapping"]


def test_broken_yaml() -> None:
    """A file that is no YAML is one error that names the place; duplicate keys are errors too."""
    (finding,) = read("kind: [").findings
    assert finding.problem.path.startswith("line 1")
    (finding,) = read(SCALED.replace("spec:", "kind: ScaledObject\nspec:")).findings
    assert "twice" in finding.problem.allowed


@given(
    st.text()
    | st.sampled_from([SCALED, CONFIG_MAP]).flatmap(
        lambda text: st.integers(0, len(text)).map(lambda end: text[:end])
    )
)
def test_any_text(text: str) -> None:
    """Any text is judged without an exception."""
    assert all(str(finding) for finding in all_findings(read(text)))


def test_at() -> None:
    """A path through what is not there ends in None."""
    assert at({"a": {"b": 1}}, "a", "b") == 1
    assert at({"a": [1]}, "a", "b") is None
    assert at(None, "a") is None
