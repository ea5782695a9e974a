"""The raw samples that a look's decisions were made from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scaler.core.policy import Policy
from scaler.live import Look
from scaler.prometheus.queries import reach, selectors
from scaler.prometheus.series import Rangeable, read_raw
from scaler.prometheus.session import Connection
from scaler.prometheus.vector import QueryFailedError
from scaler.sim.promql.labels import Labels, labels_of
from scaler.sim.promql.selectors import reads
from scaler.sim.promql.syntax import PromQLError


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Samples, or why there are none."""

    samples: Mapping[Labels, Mapping[int, float]] | None = None
    """Milliseconds -> value by series; None = there is nothing that could be believed."""
    notes: tuple[str, ...] = field(default=())
    """What a reader of the samples must know."""


def collect(look: Look) -> Collected:
    """Read the samples from the look's own Prometheus; without a complete answer there are none."""
    if not look.want.usage and not look.want.queries:
        return Collected(notes=("not asked for: there is no idle trigger",))
    problem = next((one.problem for one in look.snapshot.usage.values() if one.problem), None)
    if problem is not None:
        return Collected(notes=(problem,))
    connection = Connection(look.policy.prometheus)
    try:
        return _collected(connection, look)
    except QueryFailedError as error:
        return Collected(notes=(str(error),))
    finally:
        connection.close()


def _collected(server: Rangeable, look: Look) -> Collected:
    asked, notes = _asked(look)
    samples: defaultdict[Labels, dict[int, float]] = defaultdict(dict)
    for selector, seconds in asked.items():
        for series in read_raw(server, selector, at=look.at, reach=seconds):
            samples[labels_of(series.labels)].update(series.points)
    return Collected(samples=samples, notes=notes)


def _asked(look: Look) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Give seconds by selector, and the queries whose selectors can't be told."""
    asked: dict[str, float] = {}
    notes: list[str] = []
    for selector, seconds in _of_profile(look, look.policy):
        asked[selector] = max(seconds, asked.get(selector, 0.0))
    for key, expression in look.want.queries.items():
        try:
            found = reads(expression)
        except PromQLError as error:
            notes.append(f"query {key.name} can't be answered from a bundle: {error}")
            continue
        for selector, seconds in found:
            asked[selector] = max(seconds, asked.get(selector, 0.0))
    return asked, tuple(notes)


def _of_profile(look: Look, policy: Policy) -> Iterable[tuple[str, float]]:
    settings, look_back = policy.prometheus, policy.safety.mass_idle.hold_for
    seconds = max(
        (reach(settings=settings, key=key, look_back=look_back) for key in look.want.usage),
        default=0.0,
    )
    return ((selector, seconds) for selector in selectors(settings))
