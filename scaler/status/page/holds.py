"""All that is held: answers to KEDA for want of data, and workers that are away."""

from collections.abc import Iterator

from scaler.core.decision import Decision, Status
from scaler.core.trigger import TriggerRef
from scaler.status.page.clockwork import age
from scaler.status.page.evidence import told
from scaler.status.page.look import Look
from scaler.status.page.markup import Markup, el
from scaler.status.page.parts import badge, row, section, table
from scaler.status.page.rows import link
from scaler.status.page.view import ROWS
from scaler.status.page.workers import held, scales
from scaler.view import shown_answer


def holds(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    yield _keda(look)
    away = held(look)
    yield section(
        "Workers that are away",
        scales(look, away[:ROWS]) if away else el("p", "No workers are held.", class_="empty"),
        _rest(len(away), "workers"),
        note="by WorkerScales; their Workloads stay as the mode says",
    )


def held_triggers(look: Look) -> list[tuple[TriggerRef, Decision]]:
    """Give the triggers without a value, the longest first."""
    found = [one for one in look.state.decisions.items() if one[1].status is not Status.OK]
    return sorted(found, key=lambda one: (look.ring.unknown_since(one[0]) or look.now, one[1].key))


def _keda(look: Look) -> Markup:
    found = held_triggers(look)
    heads = ("decision", "trigger", "for", "KEDA gets", "why")
    rows = [_row(look, ref, decision) for ref, decision in found[:ROWS]]
    body = (
        table(heads, rows, label="holds", kind="holds")
        if rows
        else el("p", "Nothing is held for want of data.", class_="empty")
    )
    return section(
        "Answers without a value",
        body,
        _rest(len(found), "./"),
        note="the truth is unknown, so KEDA is told what changes nothing",
    )


def _row(look: Look, ref: TriggerRef, decision: Decision) -> Markup:
    name = f"{decision.namespace}/{decision.name}"
    return row(
        badge(decision),
        [el("a", name, href=link(ref, look.view)), el("small", decision.metric)],
        age(look.ring.unknown_since(ref), now=look.now, at_least=look.ring.began_unknown(ref)),
        told(shown_answer(decision)),
        el("span", decision.detail, class_="why"),
        key=f"hold {name} {decision.metric} {link(ref, look.view)}",
    )


def _rest(number: int, path: str) -> Markup | None:
    if number <= ROWS:
        return None
    return el("p", f"The {ROWS} oldest of {number}. ", el("a", "All of them", href=path))
