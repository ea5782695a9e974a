"""One trigger's page: its value and reasons over time, what it rests on, and by which rules."""

from collections.abc import Iterator

from scaler.core.decision import Decision, EffectiveValue, IdleEvidence, Status
from scaler.core.metadata import open_metadata
from scaler.core.trigger import TriggerRef
from scaler.status.page import activity, bands, evidence
from scaler.status.page.axis import Axis
from scaler.status.page.chronicle import MANY, Activity, Chronicle
from scaler.status.page.chronicle import activity as seen_of
from scaler.status.page.clockwork import age_of, clock_time
from scaler.status.page.look import Look
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.parts import badge, facts, row, section, spans, table, value_words
from scaler.status.page.pools import bar
from scaler.status.page.rows import find, signal_of, target_words
from scaler.status.page.timeline import Timeline, seen_from, since
from scaler.view import shown_answer

_BUSY_FROM = "busyFromPercent"


def trigger(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    found = find(look.state, look.view)
    if found is None:
        name = f"{look.view.namespace}/{look.view.name}"
        yield el(
            "p", f"There is no trigger {name}. ", el("a", "All triggers", href="./"), class_="empty"
        )
        return
    ref, decision = found
    span, along, told = look.told({ref: decision}, steps=MANY)
    timeline = told.timelines[ref]
    yield _head(look, decision, timeline)
    yield el("div", _answer(look, ref, decision), spans(look.view, span), class_="bar")
    for problem in decision.problems:
        yield el("p", problem, class_="problem")
    yield _history(timeline, along, told)
    if decision.idle is not None:
        yield from _idle(look, ref, decision, decision.idle, along)
    if decision.queue is not None:
        if decision.queue.pool is not None:
            pool = decision.queue.pool
            yield section(
                f"Pool {pool.pool or 'by GPUs a node'}",
                bar(pool, wanted=decision.value),
                evidence.pool_facts(pool),
            )
        yield from evidence.queue(decision.queue)
    yield evidence.settings(decision)
    yield _metadata(ref)


def _head(look: Look, decision: Decision, timeline: Timeline) -> Markup:
    return el(
        "div",
        el("p", el("a", "Triggers", href="./"), " / ", class_="soft crumbs"),
        el("h1", f"{decision.namespace}/{decision.name}"),
        el(
            "p",
            badge(decision),
            value_words(decision),
            age_of(since(timeline), now=look.now),
            class_="verdict",
        ),
        el("p", decision.detail, class_="lead"),
        class_="head",
    )


def _answer(look: Look, ref: TriggerRef, decision: Decision) -> Markup:
    return facts(
        (
            ("KEDA gets", evidence.told(shown_answer(decision))),
            ("scales", target_words(look.state.snapshot, ref)),
            ("signal", signal_of(ref, decision)),
            ("metric", el("code", decision.metric or "none")),
        )
    )


def _history(timeline: Timeline, along: Axis, told: Chronicle) -> Markup:
    heads = ("from", "to", "value", "reason")
    rows = [row(*cells) for cells in bands.rows(timeline)]
    return section(
        "Value and reasons",
        bands.chart(timeline, along, name="value"),
        bands.legend(timeline),
        el("details", el("summary", "as a table"), table(heads, rows, label="value and reasons")),
        note=_source(timeline, told),
    )


def _source(timeline: Timeline, told: Chronicle) -> str:
    begin = seen_from(timeline)
    if told.problem is not None:
        return f"from this process alone; Prometheus: {told.problem}"
    if told.waiting:
        return "from this process; Prometheus is being asked"
    if begin is not None and timeline and begin > timeline[0].start:
        return f"recorded since {clock_time(begin)} UTC"
    return "UTC"


def _idle(
    look: Look, ref: TriggerRef, decision: Decision, idle: IdleEvidence, along: Axis
) -> Iterator[Markup]:
    settings = look.state.policy.policy.prometheus
    pods = {*look.ring.pods(ref), *idle.pods}
    seen = seen_of(decision, pods, along, settings=settings, past=look.past)
    busy_from = _busy_from(decision.effective)
    judged = activity.Judged(
        idle_after=idle.idle_after_seconds, busy_from=busy_from, devices=idle.gpus_requested
    )
    found = activity.steps(seen.peaks, seen.counts, step=seen.step)
    yield section(
        "GPU activity that was seen",
        activity.chart(found, along, judged, now=look.now),
        activity.legend(judged),
        evidence.idle_facts(idle, at=decision.at),
        note=_activity_note(seen, pods=len(pods)),
    )
    if idle.devices:
        yield evidence.devices(idle, seen, along, busy_from=busy_from)


def _activity_note(seen: Activity, *, pods: int) -> Child:
    if not pods:
        return "no pods to look at"
    if seen.problem is not None:
        return f"Prometheus: {seen.problem}"
    if seen.waiting:
        return "Prometheus is being asked"
    return "the busiest GPU's peak in each step, on a root scale"


def _busy_from(effective: tuple[EffectiveValue, ...]) -> float:
    return next((float(one.value) for one in effective if one.key == _BUSY_FROM), 1.0)


def _metadata(ref: TriggerRef) -> Markup:
    return section("Trigger metadata", facts(_keys(ref)))


def _keys(ref: TriggerRef) -> Iterator[tuple[str, Child]]:
    for key, value in open_metadata(ref.metadata):
        yield key, el("span", "not shown", class_="soft") if value is None else el("code", value)


def title(look: Look) -> str:
    """Name the page by what needs to be known first."""
    found = find(look.state, look.view)
    if found is None:
        return "no such trigger"
    _, decision = found
    known = decision.status is Status.OK
    return f"{decision.reason if known else decision.status} · {decision.namespace}/{decision.name}"
