"""What the bench demands of sizes, and the objects that it creates."""

import pytest

from tests.e2e.bench_objects import LAB_SCALE, external, scaled_object, target
from tests.e2e.sizes import Size, Sizes
from tests.e2e.survivors import survivors
from tests.e2e.test_sizes import FakeWatch


def sizes_after(**steps: list[int]) -> Sizes:
    """Build sizes that were seen, all at 3 before and with further steps at the time 10."""
    seen = Sizes(api=FakeWatch(), kind="Deployment", namespace="lab")
    for name, further in steps.items():
        for at, replicas in ((1.0, 3), *((10.0, each) for each in further)):
            seen._seen.append(Size(at=at, name=name, replicas=replicas))
            seen._latest[name] = replicas
    return seen


def test_one_of_several_may_be_lost_to_the_race() -> None:
    """And it is told."""
    assert survivors(sizes_after(a=[], b=[0], c=[]), ["a", "b", "c"], since=5.0) == "2 of 3 held"


@pytest.mark.parametrize(
    "steps",
    [pytest.param({"a": [0], "b": [0]}, id="all gone"), pytest.param({"a": [], "b": [2]}, id="2")],
)
def test_what_is_no_race_is_no_hold(steps: dict[str, list[int]]) -> None:
    """The race takes some, and takes these to zero at once."""
    with pytest.raises(AssertionError):
        survivors(sizes_after(**steps), list(steps), since=5.0)


def test_what_was_never_seen_did_not_survive() -> None:
    """A name that is mistyped must not pass."""
    with pytest.raises(AssertionError):
        survivors(sizes_after(a=[]), ["a", "b"], since=5.0)


def test_a_scaled_object_points_at_its_target() -> None:
    """Of either kind, by the version that the target has."""
    for kind in ("Deployment", LAB_SCALE):
        aim = scaled_object(kind, "lab", "a", changes={})["spec"]["scaleTargetRef"]
        made = target(kind, "lab", "a", replicas=1)
        assert aim == {
            "apiVersion": made["apiVersion"],
            "kind": made["kind"],
            "name": made["metadata"]["name"],
        }


def test_absent_replicas_are_absent() -> None:
    """Zero is a size."""
    assert target(LAB_SCALE, "lab", "a", replicas=0)["spec"] == {"replicas": 0}
    assert target(LAB_SCALE, "lab", "a", replicas=None)["spec"] == {}


def test_a_trigger_has_its_address_and_metadata() -> None:
    """Both in the metadata, where KEDA reads them."""
    made = external("127.0.0.1:1", push=True, script="b")
    assert made == {
        "type": "external-push",
        "metadata": {"scalerAddress": "127.0.0.1:1", "script": "b"},
    }
