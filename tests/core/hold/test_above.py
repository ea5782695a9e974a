"""What bears a mark is named by the owner that a person knows."""

from dataclasses import replace

import pytest

from scaler.core.hold.above import above
from scaler.core.model import Controlled
from tests.builders import make_controlled, make_owner, make_snapshot, make_workload

JOB = make_controlled(uid="job", controller_uid="js", kind="Job", name="a-gpu-0")
JOB_SET = make_controlled(uid="js", controller_uid="train", kind="JobSet", name="a")


def test_the_topmost_owner_is_the_one_that_a_workload_names() -> None:
    """A TrainJob is not read, but its Workload is."""
    workload = make_workload(owners=(make_owner(uid="train", kind="TrainJob", name="t"),))
    made = make_snapshot(owners=[JOB, JOB_SET], workloads=[workload])
    target, found = above(made, JOB)
    assert (str(target), found) == ("TrainJob/t", workload)


def test_of_several_owners_it_is_the_one_that_stands_above() -> None:
    """Others may own the Workload too, as to have it deleted with them."""
    others = make_owner(uid="other", kind="AppWrapper", name="o")
    own = make_owner(uid="js", kind="JobSet", name="a")
    workload = make_workload(owners=(others, own))
    made = make_snapshot(owners=[JOB, JOB_SET], workloads=[workload])
    assert str(above(made, JOB)[0]) == "JobSet/a"


def test_the_newest_of_several_workloads_is_meant() -> None:
    """An admitted one before all."""
    own = (make_owner(uid="js", kind="JobSet", name="a"),)
    old = make_workload(name="old", uid="1", owners=own, admitted=True)
    new = make_workload(name="new", uid="2", owners=own)
    made = make_snapshot(owners=[JOB, JOB_SET], workloads=[new, old])
    assert above(made, JOB)[1] == old


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([JOB, JOB_SET], ("jobset.x-k8s.io/v1alpha2", "JobSet/a")),
        ([JOB], ("batch/v1", "Job/a-gpu-0")),
    ],
)
def test_without_a_workload_it_is_the_last_that_is_read(
    known: list[Controlled], expected: tuple[str, str]
) -> None:
    """With the API version that Events need."""
    target, workload = above(make_snapshot(owners=known), JOB)
    assert (target.api_version, str(target)) == expected
    assert workload is None


def test_objects_that_name_each_other_as_controllers_end_the_climb() -> None:
    """Nobody checks ownerReferences for circles."""
    circle = replace(JOB_SET, controller_uid="job")
    assert str(above(make_snapshot(owners=[JOB, circle]), JOB)[0]) == "JobSet/a"


def test_a_workload_without_owners_is_its_own_target() -> None:
    """As one that a person made."""
    workload = make_workload(name="wl", owners=())
    assert str(above(make_snapshot(workloads=[workload]), workload)[0]) == "Workload/wl"
