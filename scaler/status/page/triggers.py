"""The first page: every trigger with its decision, and its reasons of the last hours."""

from collections.abc import Iterator

from scaler.core.decision import Decision, Status
from scaler.core.trigger import TriggerRef
from scaler.status.page.axis import Axis
from scaler.status.page.bands import spark
from scaler.status.page.chronicle import Chronicle
from scaler.status.page.clockwork import age_of
from scaler.status.page.look import Look
from scaler.status.page.markup import Markup, el
from scaler.status.page.parts import badge, chip, pager, row, search, spans, table, value_words
from scaler.status.page.rows import (
    URGENCY,
    Listing,
    link,
    listing,
    outdated,
    signal_of,
    target_words,
)
from scaler.status.page.timeline import since
from scaler.status.page.tone import tone_of
from scaler.status.page.view import View

_NONE = (
    "No trigger is known yet: no ScaledObject has an external trigger with the key signal, and "
    "there is no WorkerScale."
)


def triggers(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    found = listing(look.state, look.view)
    span, along, told = look.told(dict(found.rows))
    yield el(
        "div",
        search(look.view, hint="Search by name, reason, workload, pool, ClusterQueue"),
        spans(look.view, span),
        class_="bar",
    )
    yield _chips(look.view, found)
    if not look.state.decisions:
        yield el("p", _NONE, class_="empty")
    elif not found.rows:
        yield el("p", "No trigger fits this search.", class_="empty")
    else:
        heads = ("decision", "trigger", "value", f"last {span}", "for", "why")
        rows = [_row(look, one, along, told) for one in found.rows]
        yield table(heads, rows, label="triggers", kind="triggers")
    yield pager(look.view, found.found, of="triggers")


def _chips(view: View, found: Listing) -> Markup:
    ranked = sorted(
        found.reasons.items(), key=lambda one: (URGENCY.index(one[0][0]), -one[1], one[0][1])
    )
    return el(
        "nav",
        _all_chip(view, found),
        *_reason_chips(view, ranked),
        class_="chips",
        aria_label="reasons",
    )


def _all_chip(view: View, found: Listing) -> Markup:
    everything = sum(found.reasons.values())
    href = view.href(reason="", state="", offset=0)
    return chip("all", everything, href, on=not view.reason and not view.state)


def _reason_chips(view: View, ranked: list[tuple[tuple[Status, str], int]]) -> Iterator[Markup]:
    for (status, reason), number in ranked:
        on = view.reason == reason and view.state in ("", status)
        href = view.href(reason="" if on else reason, state="" if on else str(status), offset=0)
        label = f"UNKNOWN: {reason}" if status is Status.HOLD else reason
        yield chip(label, number, href, on=on, kind=tone_of(status, reason))


def _row(look: Look, one: tuple[TriggerRef, Decision], along: Axis, told: Chronicle) -> Markup:
    ref, decision = one
    timeline = told.timelines[ref]
    name = f"{decision.namespace}/{decision.name}"
    old = "; no ScaledObject has it any more" if outdated(look.state.snapshot, ref) else ""
    return row(
        badge(decision),
        [
            el("a", name, href=link(ref, look.view)),
            el(
                "small",
                f"{signal_of(ref, decision)} · {target_words(look.state.snapshot, ref)}{old}",
            ),
        ],
        value_words(decision),
        spark(timeline, along, label=f"reasons of {name}"),
        age_of(since(timeline), now=look.now),
        el("span", decision.detail, class_="why"),
        key=f"{name} {decision.metric} {link(ref, View())}",
    )
