"""The WorkerScales: where each stands and why, and what is held."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from scaler.core.hold.words import State as Stand
from scaler.core.model import HoldRecord, Instant, WorkerScale
from scaler.core.quantity import format_duration, several
from scaler.core.scales import refs_of_scale
from scaler.status.page.clockwork import age, amounts_words
from scaler.status.page.look import Look
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.paint import swatch
from scaler.status.page.parts import chip, facts, pager, row, search, table
from scaler.status.page.rows import link
from scaler.status.page.tone import Tone
from scaler.status.page.view import ROWS, View

_TONES: Mapping[str, Tone] = {
    Stand.UNREAD: Tone.UNKNOWN,
    Stand.RUNNING: Tone.BUSY,
    Stand.NOT_IDLE: Tone.KEPT,
    Stand.HOLDING: Tone.IDLE,
    Stand.HELD: Tone.ZERO,
    Stand.WAKE_PENDING: Tone.STARTING,
    Stand.WAKING: Tone.STARTING,
    Stand.RELEASING: Tone.IDLE,
    Stand.RELEASED: Tone.ZERO,
    Stand.QUEUED: Tone.QUOTA,
    Stand.REFUSED: Tone.LIMITED,
    Stand.CONFLICT: Tone.LIMITED,
    Stand.RESTORING: Tone.STARTING,
}

_HEADS = ("state", "WorkerScale", "workers", "for", "why")


def workers(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    fitting = [one for one in look.state.snapshot.worker_scales.values() if _fits(one, look.view)]
    states = Counter(state_of(one) for one in fitting)
    found = [one for one in fitting if not look.view.state or state_of(one) == look.view.state]
    found.sort(key=lambda one: one.key)
    shown = found[look.view.offset : look.view.offset + ROWS]
    yield el("div", search(look.view, hint="Search by name, target, state"), class_="bar")
    yield _chips(look.view, states)
    if shown:
        yield scales(look, shown)
    else:
        yield el("p", _none(look), class_="empty")
    yield pager(look.view, len(found), of="WorkerScales")


def scales(look: Look, shown: Iterable[WorkerScale]) -> Markup:
    """Show WorkerScales as a table."""
    return table(_HEADS, [_row(look, one) for one in shown], label="WorkerScales", kind="scales")


def state_of(scale: WorkerScale) -> str:
    """Give where it stands; an empty status is one that no actuator wrote yet."""
    return scale.status.state or "not looked at yet"


def tone(scale: WorkerScale) -> Tone:
    """Give its colour."""
    return _TONES.get(scale.status.state, Tone.UNKNOWN)


def held(look: Look) -> list[WorkerScale]:
    """Give those whose workers are taken, the longest hold first."""
    found = [one for one in look.state.snapshot.worker_scales.values() if one.status.hold]
    return sorted(found, key=lambda one: (_since(one) or 0.0, one.key))


def _row(look: Look, scale: WorkerScale) -> Markup:
    kind = tone(scale)
    status = scale.status
    full = "?" if status.size is None else str(status.size)
    component = f" · {scale.target.component}" if scale.target.component else ""
    return row(
        el("span", swatch(kind), el("b", state_of(scale)), class_=f"badge b-{kind}"),
        [
            el("b", f"{scale.namespace}/{scale.name}", class_="name"),
            el("small", f"{scale.target}{component} · mode {scale.mode}"),
        ],
        el("span", el("b", status.replicas), el("small", f" of {full}"), class_="number"),
        age(_since(scale), now=look.now) if _since(scale) else "",
        [el("span", _why(scale), class_="why"), _more(look, scale)],
        key=f"{scale.namespace}/{scale.name}",
    )


def _more(look: Look, scale: WorkerScale) -> Markup:
    refs = refs_of_scale(look.state.snapshot, scale)
    links = [
        el("li", el("a", f"{ref.namespace}/{ref.name}", href=link(ref, View()))) for ref in refs
    ]
    return el(
        "details",
        el("summary", "more"),
        facts(_facts(scale)),
        el("p", "decided by", class_="soft"),
        el("ul", links, class_="links"),
    )


def _facts(scale: WorkerScale) -> Iterator[tuple[str, Child]]:
    status = scale.status
    yield "wanted replicas", scale.replicas
    if scale.max_hold is not None:
        yield "maxHold", format_duration(scale.max_hold)
    if status.hold is not None:
        yield from _hold(status.hold)
    if status.latch is not None:
        yield "not again", f"{status.latch.cause}: {status.latch.message}"
    for one in status.conditions:
        yield f"condition {one.type}", f"{one.status} ({one.reason}): {one.message}"


def _hold(hold: HoldRecord) -> Iterator[tuple[str, Child]]:
    yield "Workload", f"{hold.workload} ({hold.workload_uid})"
    yield "away", ", ".join(f"{several(pods, 'pod')} of {name}" for name, pods in hold.pod_sets)
    yield "quota in use", amounts_words(hold.usage)
    if hold.reason:
        yield "taken for", hold.reason


def _why(scale: WorkerScale) -> str:
    status = scale.status
    return f"{status.reason}: {status.message}" if status.reason else status.message


def _since(scale: WorkerScale) -> Instant | None:
    hold = scale.status.hold
    if hold is not None:
        return hold.since if hold.waking_at is None else hold.waking_at
    changed = [one.changed for one in scale.status.conditions]
    return max(changed, default=None)


def _chips(view: View, states: Mapping[str, int]) -> Markup:
    chips = [chip("all", sum(states.values()), view.href(state="", offset=0), on=not view.state)]
    for state, number in sorted(states.items(), key=lambda one: (-one[1], one[0])):
        on = view.state == state
        href = view.href(state="" if on else state, offset=0)
        chips.append(chip(state, number, href, on=on, kind=_TONES.get(state, Tone.UNKNOWN)))
    return el("nav", chips, class_="chips", aria_label="states")


def _fits(scale: WorkerScale, view: View) -> bool:
    if not view.words:
        return True
    status = scale.status
    text = (
        f"{scale.namespace}/{scale.name} {scale.target} {state_of(scale)} {status.reason}".lower()
    )
    return all(word in text for word in view.words)


def _none(look: Look) -> str:
    if look.state.snapshot.worker_scales:
        return "No WorkerScale fits this search."
    return "There is no WorkerScale in the cluster."
