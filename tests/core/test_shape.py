"""Requests of a pod, as the scheduler adds them up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Amounts
from scaler.core.shape import (
    InitContainer,
    PodLevel,
    asks_extended,
    container_requests,
    is_extended,
    pod_requests,
)

GPU = "nvidia.com/gpu"


def gpus(count: int) -> Amounts:
    """Write that many GPUs."""
    return ((GPU, count),)


def test_q20_a_native_sidecar_adds_to_what_runs_beside_it() -> None:
    """Q20: sidecar 1, init 2, container 1: the largest of 1, 3 and 2."""
    inits = (
        InitContainer(requests=gpus(1), sidecar=True),
        InitContainer(requests=gpus(2)),
    )
    assert pod_requests(containers=(gpus(1),), init_containers=inits) == gpus(3)


def test_q20_a_plain_init_container_runs_alone() -> None:
    """Q20, variant: without restartPolicy Always the largest of 1, 2 and 1."""
    inits = (InitContainer(requests=gpus(1)), InitContainer(requests=gpus(2)))
    assert pod_requests(containers=(gpus(1),), init_containers=inits) == gpus(2)


def test_sidecars_run_beside_the_containers() -> None:
    """Two sidecars and a container are a sum."""
    inits = (
        InitContainer(requests=gpus(1), sidecar=True),
        InitContainer(requests=gpus(1), sidecar=True),
    )
    assert pod_requests(containers=(gpus(4),), init_containers=inits) == gpus(6)


@pytest.mark.parametrize("requests", [{}, {"cpu": "1"}])
def test_q10_a_limit_stands_in_for_a_missing_request(requests: dict[str, str]) -> None:
    """Q10: GPUs are named in limits alone."""
    assert dict(container_requests(requests, {GPU: "2"}))[GPU] == 2


def test_q10_a_request_wins_over_a_limit() -> None:
    """Q10: even one of zero."""
    assert container_requests({"cpu": "1"}, {"cpu": "4"}) == (("cpu", 1000),)
    assert container_requests({"cpu": "0"}, {"cpu": "4"}) == ()


def test_pod_level_requests_win_and_pod_level_limits_fill_gaps() -> None:
    """spec.resources of the pod itself."""
    level = PodLevel(
        requests=(("cpu", 500),), limits=(("cpu", 4000), ("memory", 10), ("hugepages-2Mi", 7))
    )
    asked = pod_requests(containers=((("cpu", 100), ("memory", 5)),), pod_level=level)
    assert asked == (("cpu", 500), ("hugepages-2Mi", 7), ("memory", 5))


def test_overhead_is_added_and_pods_are_not_requests() -> None:
    """A RuntimeClass costs something for each pod; a slot for the pod is counted elsewhere."""
    asked = pod_requests(containers=((("cpu", 100), ("pods", 1)),), overhead=(("cpu", 20),))
    assert asked == (("cpu", 120),)


@pytest.mark.parametrize(
    ("resource", "want"),
    [
        (GPU, True),
        ("amd.com/gpu", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch-cpu", False),
        ("ephemeral-storage", False),
    ],
)
def test_only_a_device_plugins_resource_is_extended(resource: str, want: bool) -> None:  # noqa: FBT001  # the expected answer
    """A domain that is not Kubernetes' own."""
    assert is_extended(resource) is want
    assert asks_extended(((resource, 1),)) is want


AMOUNTS = st.integers(0, 8).map(lambda count: gpus(count) if count else ())


@given(
    st.lists(AMOUNTS, max_size=4),
    st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=5),
    AMOUNTS,
)
def test_a_pod_never_asks_less_than_its_parts(
    containers: list[Amounts], inits: list[tuple[Amounts, bool]], overhead: Amounts
) -> None:
    """Law: at least all containers and sidecars together, at least each init, at most the sum."""
    made = [InitContainer(requests=each, sidecar=sidecar) for each, sidecar in inits]
    asked = sum(
        dict(pod_requests(containers=containers, init_containers=made, overhead=overhead)).values()
    )

    def total(parts: list[Amounts]) -> int:
        return sum(dict(part).get(GPU, 0) for part in parts)

    together = total([*containers, *(each for each, sidecar in inits if sidecar)])
    alone = max((total([each]) for each, _ in inits), default=0)
    assert max(together, alone) + total([overhead]) <= asked
    assert asked <= total([*containers, *(each for each, _ in inits), overhead])
