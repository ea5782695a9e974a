"""History: this process' own changes, and before them what Prometheus recorded of ours."""

from collections.abc import Mapping

from scaler.core.model import Instant
from scaler.core.policy import Policy, PrometheusSettings
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from scaler.policyfile import PolicyState
from scaler.prometheus.series import Matrix, RawSeries
from scaler.status.page.axis import axis
from scaler.status.page.chronicle import Chronicle, activity, chronicle, tellings
from scaler.status.page.past import Found, Past
from scaler.status.page.ring import Ring
from scaler.store import State, Store
from tests.builders import NOW
from tests.status.page.stage import idle_decision, queue_decision, ref_of

AXIS = axis(seconds=3600.0, now=NOW)
LABELS = {"exported_namespace": "team-chat", "scaled_object": "llm", "metric": "idle-llm"}


class Known(Past):
    """Answer at once, by what an expression begins with."""

    def __init__(self, answers: Mapping[str, Found]) -> None:
        super().__init__(
            store=Store(policy=PolicyState(policy=Policy()), at=NOW), clock=lambda: NOW
        )
        self.answers = answers
        self.asked: list[str] = []

    def ask(self, expression: str) -> Found | None:
        """Answer."""
        self.asked.append(expression)
        return next((f for piece, f in self.answers.items() if expression.startswith(piece)), None)


def series(labels: Mapping[str, str], *points: tuple[Instant, float]) -> RawSeries:
    """Build a row."""
    return RawSeries(labels=labels, points=tuple((round(at * 1000), value) for at, value in points))


def every(
    step: float, value: float, *, start: Instant, end: Instant
) -> list[tuple[Instant, float]]:
    """Give a point at each step."""
    return [(start + step * n, value) for n in range(int((end - start) / step) + 1)]


def remembering(reason: Reason, *, since: Instant) -> Ring:
    """Build a ring that saw one Decision."""
    ring, one = Ring(), idle_decision(reason=reason, at=since)
    state = State(
        sequence=1,
        snapshot=Snapshot(at=since),
        policy=PolicyState(policy=Policy()),
        decisions={ref_of(one): one},
    )
    ring.published(state, frozenset({ref_of(one)}))
    return ring


def look(ring: Ring, past: Past) -> Chronicle:
    """Give the history of one trigger."""
    one = idle_decision()
    return chronicle({ref_of(one): one}, AXIS, ring=ring, past=past, steps=120)


def reasons(found: Chronicle) -> list[str]:
    """Give the reasons in order."""
    (timeline,) = found.timelines.values()
    return ["unseen" if one.told is None else one.told.reason for one in timeline]


def busy_before() -> Known:
    """Prometheus saw it busy for the half hour from an hour ago on."""
    told = every(30.0, 2.0, start=NOW - 3600, end=NOW - 1800)
    row = series({**LABELS, "status": "OK", "reason": "Busy"}, *told)
    values = series(LABELS, *((at, 1.0) for at, _ in told))
    return Known(
        {
            "count by": Found(at=NOW, matrix=Matrix(series=(row,))),
            "max by": Found(at=NOW, matrix=Matrix(series=(values,))),
        }
    )


def test_what_the_process_saw_comes_after_what_prometheus_has() -> None:
    """What the process saw comes after what prometheus has."""
    found = look(remembering(Reason.IDLE, since=NOW - 600), busy_before())
    assert reasons(found) == ["Busy", "unseen", "Idle"]


def test_prometheus_is_not_asked_where_the_process_saw_it_all() -> None:
    """Prometheus is not asked where the process saw it all."""
    past = busy_before()
    assert reasons(look(remembering(Reason.IDLE, since=NOW - 4000), past)) == ["Idle"]
    assert past.asked == []


def test_a_prometheus_that_was_not_heard_yet_adds_nothing_and_that_is_said() -> None:
    """A prometheus that was not heard yet adds nothing and that is said."""
    found = look(remembering(Reason.IDLE, since=NOW - 600), Known({}))
    assert found.waiting
    assert reasons(found) == ["unseen", "Idle"]


def test_a_prometheus_that_fails_is_named_and_the_process_speaks_alone() -> None:
    """A prometheus that fails is named and the process speaks alone."""
    failed = Found(at=NOW, problem="no answer within 5 s")
    found = look(remembering(Reason.IDLE, since=NOW - 600), Known({"": failed}))
    assert found.problem == "no answer within 5 s"
    assert reasons(found) == ["unseen", "Idle"]


def test_an_unknown_that_prometheus_recorded_has_no_value() -> None:
    """The value's series is absent in HOLD; nothing is filled in for it."""
    row = series({**LABELS, "status": "HOLD", "reason": "NoSamples"}, (NOW, 2.0))
    points = tellings(Matrix(series=(row,)), Matrix(), step=30.0)
    (_, told), _ = points["team-chat", "llm", "idle-llm"]
    assert told is not None
    assert (told.status, told.value) == ("HOLD", None)


def test_most_replicas_win_and_of_two_that_disagree_the_one_that_holds() -> None:
    """Most replicas win and of two that disagree the one that holds."""
    busy = series({**LABELS, "status": "OK", "reason": "Busy"}, (NOW, 1.0), (NOW + 30, 2.0))
    hold = series({**LABELS, "status": "HOLD", "reason": "NoSamples"}, (NOW, 1.0), (NOW + 30, 1.0))
    for rows in ((busy, hold), (hold, busy)):
        points = tellings(Matrix(series=rows), Matrix(), step=30.0)
        told = [one and one.reason for _, one in points["team-chat", "llm", "idle-llm"]]
        assert told == ["NoSamples", "Busy", None]


def test_our_own_namespace_label_counts_where_the_scrape_has_none() -> None:
    """Our own namespace label counts where the scrape has none."""
    labels = {**LABELS, "namespace": "team-chat", "exported_namespace": ""}
    row = series({**labels, "status": "OK", "reason": "Busy"}, (NOW, 1.0))
    assert ("team-chat", "llm", "idle-llm") in tellings(Matrix(series=(row,)), Matrix(), step=30.0)


def test_a_pause_in_what_was_recorded_is_unseen() -> None:
    """A pause in what was recorded is unseen."""
    row = series({**LABELS, "status": "OK", "reason": "Busy"}, (NOW, 1.0), (NOW + 300, 1.0))
    points = tellings(Matrix(series=(row,)), Matrix(), step=30.0)
    times = [(at - NOW, one is None) for at, one in points["team-chat", "llm", "idle-llm"]]
    assert times == [(0.0, False), (30.0, True), (300.0, False), (330.0, True)]


def test_triggers_of_other_namespaces_with_the_same_name_are_no_history_of_ours() -> None:
    """Triggers of other namespaces with the same name are no history of ours."""
    other = {**LABELS, "exported_namespace": "elsewhere", "status": "OK", "reason": "Busy"}
    row = series(other, *every(30.0, 1.0, start=NOW - 3600, end=NOW))
    past = Known({"": Found(at=NOW, matrix=Matrix(series=(row,)))})
    assert "Busy" not in reasons(look(remembering(Reason.IDLE, since=NOW - 600), past))


def test_activity_joins_peaks_counts_and_devices() -> None:
    """Activity joins peaks counts and devices."""
    past = Known(
        {
            "max(max by": Found(at=NOW, matrix=Matrix(series=(series({}, (NOW, 40.0)),))),
            "count(": Found(at=NOW, matrix=Matrix(series=(series({}, (NOW, 1.0)),))),
            "max by": Found(
                at=NOW, matrix=Matrix(series=(series({"UUID": "GPU-0"}, (NOW, 40.0)),))
            ),
        }
    )
    one = idle_decision(pods=("llm-0",))
    found = activity(one, ("llm-0",), AXIS, settings=PrometheusSettings(), past=past)
    assert found.peaks == ((NOW, 40.0),)
    assert found.counts == ((NOW, 1.0),)
    assert found.devices == {"GPU-0": ((NOW, 40.0),)}
    assert not found.waiting


def test_without_pods_nothing_is_asked() -> None:
    """Without pods nothing is asked."""
    past = Known({})
    found = activity(idle_decision(), (), AXIS, settings=PrometheusSettings(), past=past)
    assert (found.peaks, past.asked) == ((), [])


def test_devices_that_no_evidence_names_are_not_asked_for() -> None:
    """Devices that no evidence names are not asked for."""
    answer = Found(at=NOW, matrix=Matrix(series=(series({}, (NOW, 40.0)),)))
    past = Known({"": answer})
    found = activity(queue_decision(), ("p",), AXIS, settings=PrometheusSettings(), past=past)
    assert len(past.asked) == 2
    assert (found.peaks, found.devices) == (((NOW, 40.0),), {})
