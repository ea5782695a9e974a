"""The table of what follows what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.kube.retry import Outcome, Pace, Phase, next_step

PACE = Pace()
BROUGHT_NOTHING = [
    outcome for outcome in Outcome if outcome not in (Outcome.DONE, Outcome.ENDED, Outcome.SILENT)
]


@given(
    outcome=st.sampled_from(BROUGHT_NOTHING),
    phase=st.sampled_from(Phase),
    attempt=st.integers(1, 10_000),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_no_two_fruitless_requests_are_closer_than_a_second(
    outcome: Outcome, phase: Phase, attempt: int, jitter: float
) -> None:
    """Law: and none is further than half a minute away."""
    step = next_step(outcome, phase=phase, attempt=attempt, jitter=jitter, pace=PACE)
    assert 1.0 <= step.delay <= 1.5 * PACE.longest


@given(outcome=st.sampled_from(Outcome), phase=st.sampled_from(Phase), attempt=st.integers(1, 100))
def test_delays_never_shrink_while_nothing_works(
    outcome: Outcome, phase: Phase, attempt: int
) -> None:
    """Law: each further attempt waits at least as long."""
    now, later = (
        next_step(outcome, phase=phase, attempt=number, jitter=0.3, pace=PACE).delay
        for number in (attempt, attempt + 1)
    )
    assert now <= later


def test_jitter_stretches_a_delay() -> None:
    """Replicas that fail together don't ask together."""
    calm, late = (
        next_step(Outcome.FAILED, phase=Phase.LIST, attempt=1, jitter=jitter, pace=PACE).delay
        for jitter in (0.0, 0.9)
    )
    assert (calm, late) == (1.0, 1.45)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_watch_comes_to_a_list_when_nothing_else_works(outcome: Outcome) -> None:
    """No outcome of a watch repeats for ever without a list."""
    phases = {
        next_step(outcome, phase=Phase.WATCH, attempt=attempt, jitter=0.0, pace=PACE).phase
        for attempt in range(1, 10)
    }
    fruitful = outcome in (Outcome.DONE, Outcome.ENDED, Outcome.BRIEF)
    if fruitful:
        assert phases == {Phase.WATCH}
    else:
        assert phases & {Phase.LIST, Phase.DISCOVER}
