"""A WorkerScale's status: what is written comes back, and no part spoils another."""

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Latch, WorkerScaleStatus
from scaler.kube.scale_status import patch, read
from scaler.sim.patches import merged
from tests.kube.schema import part, problems
from tests.kube.worker_scales import HOLD, NOW, STATUSES

EMPTY = WorkerScaleStatus()


def after(document: object, before: WorkerScaleStatus, news: WorkerScaleStatus) -> object:
    """Give a status document with a status merged into it."""
    return merged(document, json.loads(json.dumps(patch(before=before, after=news))))


def read_document(document: object) -> WorkerScaleStatus:
    """Read a status document."""
    return read(msgspec.Raw(json.dumps(document).encode()))


@given(steps=st.lists(STATUSES, min_size=1, max_size=3))
def test_a_status_is_what_was_written_last(steps: list[WorkerScaleStatus]) -> None:
    """Law: whatever was there before, it reads as the record that was written, and is valid."""
    document: object = {}
    before = EMPTY
    for status in steps:
        document = after(document, before, status)
        before = read_document(document)
        assert before == status
        assert list(problems(part("status"), document)) == []


def test_a_field_that_went_is_gone() -> None:
    """Hold, latch, times and amounts that the next status lacks are taken away, not left."""
    first = WorkerScaleStatus(
        size=2,
        hold=replace(HOLD, gone_at=NOW, waking_at=NOW),
        latch=Latch(cause="NotTaken", message="m", generation=3),
    )
    document = after({}, EMPTY, first)
    second = WorkerScaleStatus(hold=replace(HOLD, usage=(("nvidia.com/gpu", 8),)))
    document = after(document, first, second)
    assert isinstance(document, dict)
    assert document.keys().isdisjoint({"size", "latch"})
    assert document["hold"].keys().isdisjoint({"goneAt", "wakingAt"})
    assert document["hold"]["usage"] == {"nvidia.com/gpu": "8"}
    document = after(document, second, EMPTY)
    assert isinstance(document, dict)
    assert "hold" not in document


def test_amounts_are_kubernetes_quantities() -> None:
    """Millicores have their suffix; all else is whole units."""
    written = patch(before=EMPTY, after=WorkerScaleStatus(hold=HOLD))["hold"]
    assert isinstance(written, dict)
    assert written["usage"] == {"cpu": "8500m", "nvidia.com/gpu": "8"}
    by_hand = {**written, "usage": {"cpu": 8.5, "nvidia.com/gpu": 8}}
    found = read_document({"hold": by_hand}).hold
    assert found is not None
    assert found.usage == HOLD.usage


def test_times_are_rfc_3339() -> None:
    """Whole seconds have no fraction."""
    written = patch(before=EMPTY, after=WorkerScaleStatus(hold=replace(HOLD, gone_at=NOW + 0.25)))
    hold = written["hold"]
    assert isinstance(hold, dict)
    assert (hold["since"], hold["goneAt"]) == (
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:00.250000Z",
    )


@pytest.mark.parametrize(
    "document",
    [{}, None, [], "x", {"hold": None}, {"conditions": None, "unknown": {"a": 1}}],
)
def test_what_is_no_status_is_an_empty_one(document: object) -> None:
    """The WorkerScale itself stays readable."""
    assert read_document(document) == EMPTY
    assert read(msgspec.Raw()) == EMPTY


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("conditions", [{"type": "Ready"}]),
        ("latch", {"cause": 7}),
        ("size", "many"),
        ("replicas", None),
        ("message", ["m"]),
    ],
)
def test_a_malformed_part_does_not_cost_the_hold(field: str, value: object) -> None:
    """What was true when the workers were taken must outlive any mistake beside it."""
    document = after({}, EMPTY, WorkerScaleStatus(state="Held", hold=HOLD))
    assert isinstance(document, dict)
    found = read_document({**document, field: value})
    assert (found.hold, found.state) == (HOLD, "Held")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("usage", {"cpu": "eight"}),
        ("since", "now"),
        ("since", "0001-01-01T00:00:00+14:00"),
        ("goneAt", "9999-12-31T23:59:59-14:00"),
        ("podSets", {}),
        ("usage", 1),
    ],
)
def test_a_malformed_hold_is_none(field: str, value: object) -> None:
    """Half a record is none; the rest of the status stays."""
    document = after({}, EMPTY, WorkerScaleStatus(state="Held", hold=HOLD))
    assert isinstance(document, dict)
    document["hold"][field] = value
    found = read_document(document)
    assert (found.hold, found.state) == (None, "Held")
