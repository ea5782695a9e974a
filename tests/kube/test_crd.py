"""The CRD of WorkerScales and the typed classes say the same."""

import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given

from scaler.core.model import (
    HoldRecord,
    Kind,
    Latch,
    Mode,
    ScaleCondition,
    WorkerScale,
    WorkerScaleStatus,
    WorkerTarget,
)
from scaler.kube.resources import KINDS
from scaler.kube.scale_status import patch
from tests.kube.schema import Schema, crd, part, problems, version
from tests.kube.worker_scales import STATUSES, a_scale, scale_document

HOLDS = {"RayCluster", "RayJob", "JobSet", "TrainJob"}
RELEASES_ONLY = {"Job", "PyTorchJob", "MPIJob", "RayService", "AppWrapper", "Notebook"}
KEDA_SCALES = {"Deployment", "StatefulSet", "LeaderWorkerSet", "InferenceService"}
OF_METADATA = {
    "namespace",
    "name",
    "uid",
    "created",
    "generation",
    "resource_version",
    "hold_now",
    "wake_at",
    "opted_out",
    "deleting",
    "finalized",
    "finalizers",
}
"""Fields of a WorkerScale's record that come from its metadata."""


def camel(name: str) -> str:
    """Spell a field as JSON does."""
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def spelled(record: type, **renamed: str) -> set[str]:
    """Give a dataclass's fields in JSON's spelling."""
    return {renamed.get(each.name, camel(each.name)) for each in fields(record)}


# --- names -------------------------------------------------------------------------------------


def test_the_names_are_those_that_are_read() -> None:
    """Group, version, plural and kind."""
    spec, row = crd()["spec"], KINDS[Kind.WORKER_SCALES]
    assert crd()["metadata"]["name"] == row.full_name
    assert (spec["group"], spec["names"]["plural"]) == (row.group, row.plural)
    assert (spec["names"]["kind"], version()["name"]) == (row.object_kind, *row.versions)
    assert (spec["scope"] == "Namespaced") is row.namespaced


def test_the_scale_subresource_leads_to_fields_that_are_there() -> None:
    """KEDA needs a default, and the HPA a selector."""
    scale = version()["subresources"]["scale"]
    assert scale == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    assert (part("spec", "replicas")["default"], part("spec", "replicas")["minimum"]) == (1, 0)
    assert version()["subresources"]["status"] == {}


def test_printed_columns_are_those_that_tell() -> None:
    """Each leads to a field."""
    columns = version()["additionalPrinterColumns"]
    shown = [each["name"].upper() for each in columns if not each.get("priority")]
    assert shown == ["TARGET", "MODE", "DESIRED", "OBSERVED", "STATE", "REASON", "READY", "AGE"]
    ready = '.status.conditions[?(@.type=="Ready")].status'
    assert [each["jsonPath"] for each in columns if each["name"] == "Ready"] == [ready]
    for each in columns:
        _, *path = each["jsonPath"].partition("[")[0].split(".")
        if path[0] != "metadata":
            assert part(*path)


# --- fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (part("spec"), spelled(WorkerScale) - {camel(each) for each in OF_METADATA} - {"status"}),
        (part("spec", "target"), spelled(WorkerTarget)),
        (part("status"), spelled(WorkerScaleStatus)),
        (part("status", "hold"), spelled(HoldRecord)),
        (part("status", "hold", "podSets")["items"], {"name", "pods"}),
        (part("status", "latch"), spelled(Latch)),
        (
            part("status", "conditions")["items"],
            spelled(ScaleCondition, changed="lastTransitionTime"),
        ),
    ],
)
def test_schema_and_class_have_the_same_fields(schema: Schema, names: set[str]) -> None:
    """A field that the schema lacks would be pruned without a word."""
    assert set(schema["properties"]) == names
    assert set(schema.get("required", ())) <= names


def test_what_the_schema_defaults_is_what_decoding_takes_for_absent() -> None:
    """An old object reads as a new one."""
    document = scale_document()
    for name in ("mode", "replicas"):
        assert part("spec", name)["default"] == document["spec"].pop(name)
    assert a_scale(document) == a_scale()
    assert set(part("spec", "mode")["enum"]) == set(Mode)


@given(status=STATUSES)
def test_every_field_that_is_written_is_in_the_schema(status: WorkerScaleStatus) -> None:
    """Law: the patch names no field that the API server would prune."""
    written = patch(before=status, after=status)
    assert written.keys() == part("status")["properties"].keys()
    for name in ("hold", "latch"):
        inner = written[name]
        if isinstance(inner, dict):
            assert inner.keys() == part("status", name)["properties"].keys()


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["90s", "30m", "1h30m", "24h", "1h0m5s"])
def test_durations_that_the_schema_takes_are_read(text: str) -> None:
    """As everywhere else."""
    assert not list(problems(part("spec", "maxHold"), text))
    assert a_scale(scale_document(maxHold=text)).max_hold


@pytest.mark.parametrize("text", ["", "90", "h", "1d", "30m1h", "-5m", "1.5h", "5 m"])
def test_durations_that_it_does_not(text: str) -> None:
    """People see it when they apply the object."""
    assert list(problems(part("spec", "maxHold"), text))


def rules(*path: str) -> list[dict[str, Any]]:
    """Give the CEL rules of a field."""
    found: list[dict[str, Any]] = part(*path)["x-kubernetes-validations"]
    return found


def kinds_in(rule: str) -> set[str]:
    """Give the kinds that a rule names."""
    return set(re.findall(r"'([A-Z][A-Za-z]+)'", rule)) - set(Mode)


def test_target_and_mode_are_for_ever() -> None:
    """A hold is never left behind on an object that nobody looks at any more."""
    for path in (("spec", "target"), ("spec", "mode")):
        (rule,) = rules(*path)
        assert rule["rule"] == "self == oldSelf"


def test_the_rules_name_every_kind_where_it_belongs() -> None:
    """And their messages say what can be done instead."""
    directly, known, *groups, not_held, component, whole = rules("spec")
    assert kinds_in(directly["rule"]) == KEDA_SCALES
    assert "ScaledObject" in directly["message"]
    assert kinds_in(known["rule"]) == HOLDS | RELEASES_ONLY | KEDA_SCALES
    assert all(kind in known["message"] for kind in HOLDS | RELEASES_ONLY)
    assert set().union(*(kinds_in(each["rule"]) for each in groups)) == HOLDS | RELEASES_ONLY
    assert kinds_in(not_held["rule"]) == RELEASES_ONLY
    assert "its Workload would be lost; choose mode: Release" in not_held["message"]
    assert kinds_in(component["rule"]) == HOLDS
    assert "target.component" in component["message"]
    assert "leave target.component out" in whole["message"]


def test_messages_are_single_lines() -> None:
    """The API server takes no others."""
    for path in (("spec",), ("spec", "target"), ("spec", "mode"), ("spec", "maxHold")):
        assert all("\n" not in rule["message"] for rule in rules(*path))
