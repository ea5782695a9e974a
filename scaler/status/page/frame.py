"""The frame of every page: head, navigation, what is wrong with sources, and the body."""

from collections.abc import Iterator

from scaler.core.decision import Status
from scaler.status.page.assets import ICON, SCRIPT, STYLE
from scaler.status.page.look import Look
from scaler.status.page.markup import Child, Markup, document, el, join
from scaler.status.page.paint import HATCHED

_TABS = (
    ("", "Triggers"),
    ("holds", "Holds"),
    ("pools", "Pools"),
    ("workers", "Workers"),
    ("policy", "Policy"),
)


def page(look: Look, *body: Child, title: str) -> str:
    """Write a whole page."""
    return document(
        el(
            "html",
            el("head", _head(title)),
            el(
                "body",
                _hatches(),
                el("a", "Skip to content", href="#main", class_="skip"),
                _header(look),
                el("main", _notes(look), *body, id="main"),
                _footer(),
            ),
            lang="en",
        )
    )


def _head(title: str) -> Iterator[Markup]:
    yield el("meta", charset="utf-8")
    yield el("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield el("meta", name="color-scheme", content="light dark")
    yield el("title", f"{title} · kueue-gpu-scaler")
    yield el("link", rel="icon", type="image/svg+xml", href=ICON.href)
    yield el("link", rel="stylesheet", href=STYLE.href)
    # Not deferred: a chosen look has to be there before anything is painted.
    yield el("script", src=SCRIPT.href)


def _header(look: Look) -> Markup:
    return el(
        "header",
        el("a", "kueue-gpu-scaler", href="./", class_="brand"),
        el(
            "nav",
            (_tab(look, path, name) for path, name in _TABS),
            class_="tabs",
            aria_label="pages",
        ),
        el("span", id="live"),
        el("button", id="theme", type="button", hidden=True),
    )


def _tab(look: Look, path: str, name: str) -> Markup:
    here = "" if look.view.path == "trigger" else look.view.path
    number = _number(look, path)
    count = None if number is None else el("span", number, class_="count")
    return el(
        "a",
        name,
        count,
        href=path or "./",
        aria_current="page" if here == path else None,
        class_="alert" if path == "holds" and number else None,
    )


def _number(look: Look, path: str) -> int | None:
    state = look.state
    match path:
        case "":
            return len(state.decisions)
        case "holds":
            unknown = sum(1 for one in state.decisions.values() if one.status is not Status.OK)
            scales = state.snapshot.worker_scales.values()
            return unknown + sum(1 for one in scales if one.status.hold is not None)
        case "pools":
            return len(state.policy.policy.pools)
        case "workers":
            return len(state.snapshot.worker_scales)
        case _:
            return None


def _notes(look: Look) -> Markup | None:
    notes = list(look.details)
    if look.stale:
        notes.insert(0, "Nothing was decided for over a minute: what is shown is old.")
    if not notes:
        return None
    return el("ul", (el("li", note) for note in notes), class_="notes", aria_label="what is wrong")


def _footer() -> Markup:
    links = (("decisions", "JSON"), ("metrics", "metrics"), ("readyz", "readiness"))
    return el("footer", (el("a", name, href=path) for path, name in links), " Times are UTC.")


def _hatches() -> Markup:
    return el(
        "svg",
        el("defs", (_hatch(name) for name in sorted(HATCHED))),
        width=0,
        height=0,
        aria_hidden="true",
        class_="defs",
    )


def _hatch(name: str) -> Markup:
    return el(
        "pattern",
        join(
            el("rect", width=6, height=6, class_=f"h-{name} ground"),
            el("line", x1=0, y1=0, x2=0, y2=6, class_=f"h-{name} stroke"),
        ),
        id=f"hatch-{name}",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
