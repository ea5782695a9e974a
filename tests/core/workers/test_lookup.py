from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.memo import Memo
from scaler.core.model import NodeRequirement, Workload
from scaler.core.snapshot import Snapshot
from scaler.core.workers.lookup import pods_selected, selects, workloads_owned
from tests.builders import make_owner, make_pod, make_snapshot, make_workload


@pytest.mark.parametrize(
    ("part", "labels", "want"),
    [
        (("app", "In", ("a", "b")), {"app": "b"}, True),
        (("app", "In", ("a", "b")), {"app": "c"}, False),
        (("app", "In", ("a",)), {}, False),
        (("app", "NotIn", ("a",)), {"app": "b"}, True),
        (("app", "NotIn", ("a",)), {}, True),
        (("app", "NotIn", ("a",)), {"app": "a"}, False),
        (("app", "Exists", ()), {"app": ""}, True),
        (("app", "Exists", ()), {}, False),
        (("app", "DoesNotExist", ()), {}, True),
        (("app", "DoesNotExist", ()), {"app": "a"}, False),
        (("app", "Gt", ("1",)), {"app": "2"}, False),
    ],
)
def test_a_label_selector_means_what_kubernetes_means(
    part: tuple[str, str, tuple[str, ...]], labels: dict[str, str], *, want: bool
) -> None:
    """A label selector means what kubernetes means."""
    key, operator, values = part
    requirement = NodeRequirement(key=key, operator=operator, values=values)
    assert selects(selector=(requirement,), labels=labels) is want


def test_all_parts_of_a_selector_have_to_fit_and_an_empty_one_selects_nothing() -> None:
    """All parts of a selector have to fit and an empty one selects nothing."""
    two = (
        NodeRequirement(key="app", operator="In", values=("a",)),
        NodeRequirement(key="tier", operator="Exists"),
    )
    assert selects(selector=two, labels={"app": "a", "tier": "x"})
    assert not selects(selector=two, labels={"app": "a"})
    assert not selects(selector=(), labels={"app": "a"})


REQUIREMENTS = st.builds(
    NodeRequirement,
    key=st.sampled_from(["app", "tier"]),
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt"]),
    values=st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple),
)
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b", "c"]))


@given(st.lists(REQUIREMENTS, max_size=3).map(tuple), st.lists(LABELS, max_size=6))
def test_looking_up_pods_gives_what_looking_at_each_one_gives(
    selector: tuple[NodeRequirement, ...], labels: list[dict[str, str]]
) -> None:
    """Looking up pods gives what looking at each one gives."""
    pods = [make_pod(name=f"p-{n}", labels=one) for n, one in enumerate(labels)]
    snapshot = make_snapshot(pods=[*pods, make_pod(name="x", namespace="y", labels={"app": "a"})])
    want = {pod.name for pod in pods if selects(selector=selector, labels=pod.labels)}
    for _ in range(2):
        found = list(pods_selected(snapshot=snapshot, namespace="ml", selector=selector))
        assert len(found) == len({pod.name for pod in found})
        assert {pod.name for pod in found} == want


def test_pods_that_came_later_are_found() -> None:
    """Pods that came later are found."""
    by_app = (NodeRequirement(key="app", operator="In", values=("a",)),)
    before = make_snapshot(pods=[make_pod(name="p-0", labels={"app": "a"})])
    more = [make_pod(name=f"p-{n}", labels={"app": "a"}) for n in range(2)]
    after = replace(make_snapshot(pods=more), memo=before.memo)
    counts = [
        len(list(pods_selected(snapshot=one, namespace="ml", selector=by_app)))
        for one in (before, after)
    ]
    assert counts == [1, 2]


def job(name: str, *, uid: str = "u", deleting: bool = False, owner: str = "train") -> Workload:
    """Build a Workload of a Job."""
    owners = (make_owner(uid=uid, kind="Job", name=owner),)
    return make_workload(name=name, owners=owners, deleting=deleting)


def owned(snapshot: Snapshot, memo: Memo | None = None) -> list[str]:
    """Give the names of the Workloads of Job `train`."""
    seen = snapshot if memo is None else replace(snapshot, memo=memo)
    found = workloads_owned(snapshot=seen, kind="Job", namespace="ml", name="train")
    return [workload.name for workload in found]


def test_an_owners_workloads_are_told_by_kind_namespace_and_name() -> None:
    """An owners workloads are told by kind namespace and name."""
    strangers = [
        job("other-name", uid="v", owner="eval"),
        replace(job("other-space", uid="w"), namespace="x"),
        make_workload(name="kind", owners=(make_owner(uid="k", kind="JobSet", name="train"),)),
        make_workload(name="bare"),
    ]
    assert owned(make_snapshot(workloads=[job("b"), job("a"), *strangers])) == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        ([], [job("a")], ["a"]),
        ([job("a")], [], []),
        ([job("a")], [job("a"), job("b")], ["a", "b"]),
        ([job("a")], [job("b", uid="v")], ["b"]),
        ([job("a")], [job("a"), job("b", uid="v")], ["a", "b"]),
        ([job("a")], [job("a", deleting=True), job("b", uid="v")], ["a", "b"]),
        ([job("a")], [job("a")], ["a"]),
    ],
)
def test_what_was_found_before_hides_nothing_that_is_there_now(
    first: list[Workload], second: list[Workload], want: list[str]
) -> None:
    """What was found before hides nothing that is there now."""
    memo = Memo()
    owned(make_snapshot(workloads=first), memo)
    snapshot = make_snapshot(workloads=second)
    assert owned(snapshot, memo) == owned(snapshot) == want
