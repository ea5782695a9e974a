"""The pools: what is wanted, what is there, and where it is capped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scaler.core.decision import Decision, PoolEvidence, Status
from scaler.core.policy import Pool
from scaler.core.quantity import format_duration
from scaler.core.schedule import spare_nodes
from scaler.core.trigger import TriggerRef
from scaler.status.page.bands import spark
from scaler.status.page.clockwork import amounts_words
from scaler.status.page.look import Look
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.parts import badge, facts, spans
from scaler.status.page.rows import link, outdated

_HEIGHT = 30
_TOP, _BAR = 4, 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """A trigger that speaks of a pool."""

    ref: TriggerRef
    decision: Decision


def pools(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    sized = by_pool(look)
    known = look.state.policy.policy.pools
    everyone = {one.ref: one.decision for ones in sized.values() for one in ones}
    span, along, told = look.told(everyone)
    yield el(
        "div", el("p", _words(known, sized), class_="soft"), spans(look.view, span), class_="bar"
    )
    for name in (*known, *(name for name in sorted(sized) if name not in known)):
        strips: Mapping[TriggerRef, Markup] = {
            one.ref: spark(told.timelines[one.ref], along, label=f"reasons of pool {name}")
            for one in sized.get(name, ())
        }
        yield _pool(look, name, known.get(name), sized.get(name, ()), strips)


def by_pool(look: Look) -> Mapping[str, tuple[Sized, ...]]:
    """Give the triggers that speak of each pool, those with a decision first."""
    found: dict[str, list[Sized]] = {}
    for ref, decision in look.state.decisions.items():
        name = _pool_of(ref, decision)
        if name and not outdated(look.state.snapshot, ref):
            found.setdefault(name, []).append(Sized(ref=ref, decision=decision))
    return {name: tuple(sorted(ones, key=_order)) for name, ones in found.items()}


def bar(pool: PoolEvidence, *, wanted: int | None) -> Markup:
    """Draw nodes by state, what is wanted as a mark, the most as the end of the track."""
    top = max(pool.max_nodes, wanted or 0, pool.present + pool.new, 1)
    parts = (
        ("usable", pool.usable),
        ("coming", pool.coming),
        ("broken", pool.broken),
        ("new", pool.new),
    )
    drawn: list[Markup | None] = []
    at = 0
    for name, nodes in parts:
        drawn.append(_part(name, nodes, at, top))
        at += nodes
    return el(
        "svg",
        el("rect", x=0, width=_share(pool.max_nodes, top), y=_TOP, height=_BAR, class_="track"),
        drawn,
        _mark(wanted, top),
        class_="poolbar",
        height=_HEIGHT,
        role="img",
        aria_label=_bar_words(pool, wanted),
    )


def _pool(
    look: Look,
    name: str,
    pool: Pool | None,
    sized: tuple[Sized, ...],
    strips: Mapping[TriggerRef, Markup],
) -> Markup:
    first = next((one for one in sized if one.decision.queue and one.decision.queue.pool), None)
    seen = first.decision.queue.pool if first and first.decision.queue else None
    body: list[Child] = []
    if seen is not None and first is not None:
        body += [bar(seen, wanted=_wanted(first.decision)), _legend(seen, _wanted(first.decision))]
    elif not sized:
        body.append(el("p", "No trigger sizes this pool.", class_="soft"))
    body += [_sizer(look, one, strips[one.ref]) for one in sized]
    settings = None if pool is None else facts(_settings(look, pool))
    note = "not in the policy" if pool is None else None
    capped = el("span", "capped", class_="flag") if seen is not None and seen.capped else None
    return el(
        "section",
        el("h2", name, capped, el("small", note)),
        *body,
        settings,
        data_key=f"pool {name}",
    )


def _sizer(look: Look, one: Sized, strip: Markup) -> Markup:
    decision = one.decision
    return el(
        "div",
        badge(decision),
        el("a", f"{decision.namespace}/{decision.name}", href=link(one.ref, look.view)),
        strip,
        el("span", decision.detail, class_="why"),
        class_="sizer",
    )


def _settings(look: Look, pool: Pool) -> Iterator[tuple[str, Child]]:
    yield "selector", ", ".join(f"{key}={value}" for key, value in pool.node_selector)
    yield "node", amounts_words(pool.node)
    yield "at most", pool.max_nodes
    yield "spare now", spare_nodes(look.state.policy.policy, pool, look.now)
    yield "provisioningTimeout", format_duration(pool.provisioning_timeout)
    yield "notReadyGrace", format_duration(pool.not_ready_grace)


def _legend(pool: PoolEvidence, wanted: int | None) -> Markup:
    words = (
        ("wanted", "UNKNOWN" if wanted is None else str(wanted)),
        ("size", "not known" if pool.size is None else str(pool.size)),
        ("usable", str(pool.usable)),
        ("coming", str(pool.coming)),
        ("broken", str(pool.broken)),
        ("new", str(pool.new)),
        ("at most", str(pool.max_nodes)),
    )
    return el(
        "ul",
        (el("li", _dot(name), el("b", number), f" {name}") for name, number in words),
        class_="legend",
    )


def _dot(name: str) -> Markup | None:
    if name not in ("usable", "coming", "broken", "new"):
        return None
    return el(
        "svg",
        el("rect", width="100%", height="100%", rx=2, class_=f"n-{name}"),
        class_="swatch",
        width=12,
        height=12,
        aria_hidden="true",
    )


def _part(name: str, nodes: int, at: int, top: int) -> Markup | None:
    if not nodes:
        return None
    return el(
        "rect",
        el("title", f"{nodes} {name}"),
        x=_share(at, top),
        width=_share(nodes, top),
        y=_TOP,
        height=_BAR,
        class_=f"n-{name}",
    )


def _mark(wanted: int | None, top: int) -> Markup | None:
    if wanted is None:
        return None
    x = _share(wanted, top)
    return el(
        "line",
        el("title", f"{wanted} wanted"),
        x1=x,
        x2=x,
        y1=0,
        y2=_TOP + _BAR + 4,
        class_="wanted",
    )


def _share(nodes: int, top: int) -> str:
    return f"{100 * nodes / top:.2f}%"


def _bar_words(pool: PoolEvidence, wanted: int | None) -> str:
    want = "UNKNOWN how many" if wanted is None else str(wanted)
    return (
        f"{want} wanted, {pool.present} there: {pool.usable} usable, {pool.coming} coming, "
        f"{pool.broken} broken; {pool.new} new; at most {pool.max_nodes}"
    )


def _wanted(decision: Decision) -> int | None:
    return decision.value if decision.status is Status.OK else None


def _pool_of(ref: TriggerRef, decision: Decision) -> str:
    if decision.queue is not None and decision.queue.pool is not None:
        return decision.queue.pool.pool
    return dict(ref.metadata).get("pool", "")


def _order(one: Sized) -> tuple[bool, str, str]:
    has = one.decision.queue is not None and one.decision.queue.pool is not None
    return (not has, one.decision.namespace, one.decision.name)


def _words(known: Mapping[str, Pool], sized: Mapping[str, tuple[Sized, ...]]) -> str:
    if not known and not sized:
        return "The policy has no pools, and no trigger names one."
    return "Nodes by state; the line is what is wanted, the track ends at the most."
