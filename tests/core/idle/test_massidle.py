import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.idle.massidle import brake, newest_burst
from scaler.core.model import Instant
from scaler.core.policy import MassIdle
from scaler.core.usage import IdleStart

SETTINGS = MassIdle(workloads=3, percent=50, hold_for=3600)


def starts(*times: float | None) -> list[IdleStart]:
    """Build the idle starts of workloads, each its own."""
    return [IdleStart(namespace="ml", workload=f"w-{n}", at=at) for n, at in enumerate(times)]


def burst(*times: float | None, settings: MassIdle = SETTINGS) -> Instant | None:
    """Look for a burst at a scrape interval of 30 s."""
    return newest_burst(starts=starts(*times), settings=settings, scrape_interval=30)


@pytest.mark.parametrize(
    ("times", "want"),
    [
        ((100, 130, 160), 160),
        ((100, 130, 161), None),
        ((100, 100), None),
        ((100, 100, 100, None, None, None), 100),
        ((100, 100, 100, None, None, None, None), None),
        ((100, 100, 100, 900, 900, 900), 900),
        ((100, 100, 100, 900), 100),
        ((), None),
    ],
)
def test_a_burst_is_many_in_number_and_share_within_two_scrape_intervals(
    times: tuple[float | None, ...], want: Instant | None
) -> None:
    """A burst is many in number and share within two scrape intervals."""
    assert burst(*times) == want


def test_a_workload_with_two_triggers_counts_once() -> None:
    """A workload with two triggers counts once."""
    twice = [*starts(100, 100), *starts(100, 100)]
    assert newest_burst(starts=twice, settings=SETTINGS, scrape_interval=30) is None


@pytest.mark.parametrize(("now", "held"), [(1900, True), (5499, True), (5500, False)])
def test_the_brake_lets_go_when_it_held_each_workload_for_long_enough(
    now: float, *, held: bool
) -> None:
    """The brake lets go when it held each workload for long enough."""
    said = brake(
        burst=100,
        settings=SETTINGS,
        scrape_interval=30,
        idle_after=1800,
        now=now,
    )
    assert (said is not None) is held


def test_without_a_burst_the_brake_says_nothing() -> None:
    """Without a burst the brake says nothing."""
    said = brake(burst=None, settings=SETTINGS, scrape_interval=30, idle_after=1800, now=600)
    assert said is None


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 300)), max_size=12),
    st.integers(1, 5),
    st.integers(0, 100),
)
def test_a_burst_is_found_exactly_where_counting_every_span_finds_one(
    times: list[int | None], workloads: int, percent: int
) -> None:
    """A burst is found exactly where counting every span finds one."""
    settings = MassIdle(workloads=workloads, percent=percent, hold_for=60)
    known = [at for at in times if at is not None]
    counts = {end: sum(end - 60 <= at <= end for at in known) for end in known}
    enough = [
        end
        for end, count in counts.items()
        if count >= workloads and 100 * count >= percent * len(times)
    ]
    assert burst(*times, settings=settings) == max(enough, default=None)
