"""Holds that one of several may miss."""

from collections.abc import Sequence

from tests.e2e.sizes import Sizes


def survivors(sizes: Sizes, names: Sequence[str], since: float) -> str:
    """Demand that an answer does not take targets to zero, and say how many kept their size.

    KEDA 2.21 now and then takes an error for an inactive answer, when a poll and an HPA read meet;
    so one of several may go to zero, though never all.

    Raises:
        AssertionError: all went, one was scaled otherwise, or one was never seen.
    """
    assert all(sizes.of(name) is not None for name in names), f"not all seen: {names}"
    held = [name for name in names if not sizes.seen(name, since)]
    steps = {name: sizes.steps(name, since) for name in names if name not in held}
    assert held, f"none held: {steps}"
    assert all(each[0] == 0 for each in steps.values()), f"scaled, not to zero at once: {steps}"
    return f"{len(held)} of {len(names)} held"
