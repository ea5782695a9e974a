"""Parts that several pages have: tables, pagers, chips, sections."""

from collections.abc import Iterable

from scaler.core.decision import Decision, Status
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.paint import swatch
from scaler.status.page.tone import Tone, tone_of
from scaler.status.page.view import ROWS, SPANS, View


def table(heads: Iterable[str], rows: Iterable[Markup], *, label: str, kind: str = "") -> Markup:
    """Build a table; on a narrow screen its rows become cards, so each cell knows its head."""
    return el(
        "div",
        el(
            "table",
            el("thead", el("tr", (el("th", head, scope="col") for head in heads))),
            el("tbody", rows),
            class_=kind or "plain",
            aria_label=label,
        ),
        class_="scroll" if not kind else None,
    )


def row(*cells: Child, key: str | None = None, class_: str | None = None) -> Markup:
    """Build a row of plain cells."""
    return el("tr", (el("td", cell) for cell in cells), data_key=key, class_=class_)


def section(title: str, *body: Child, note: Child = None) -> Markup:
    """Build a part with a heading."""
    head = el("h2", title, el("small", note) if note is not None else None)
    return el("section", head, *body)


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Build a list of names and what they are."""
    return el(
        "dl", (el("div", el("dt", name), el("dd", value)) for name, value in pairs), class_="facts"
    )


def badge(decision: Decision) -> Markup:
    """Say status and reason, beside the reason's colour."""
    kind = tone_of(decision.status, decision.reason)
    return el("span", swatch(kind), el("b", status_word(decision)), class_=f"badge b-{kind}")


def status_word(decision: Decision) -> str:
    """Say in one or two words what is decided: what is UNKNOWN is said to be."""
    match decision.status:
        case Status.HOLD:
            return f"UNKNOWN: {decision.reason}"
        case Status.INVALID:
            return "INVALID"
        case _:
            return str(decision.reason)


def value_words(decision: Decision) -> Markup:
    """Give the value that KEDA gets, and the size now; no value is never a number."""
    size = None if decision.size is None else el("small", f" of {decision.size}")
    if decision.status is not Status.OK or decision.value is None:
        return el("span", el("abbr", "?", title="no value: UNKNOWN"), size, class_="number none")
    return el("span", el("b", decision.value), size, class_="number")


def chip(label: str, number: int, href: str, *, on: bool, kind: Tone | None = None) -> Markup:
    """Build a filter that is on or off."""
    mark = None if kind is None else swatch(kind)
    return el(
        "a",
        mark,
        label,
        el("span", number, class_="count"),
        href=href,
        class_="chip on" if on else "chip",
        aria_current="true" if on else None,
        data_swap=True,
    )


def spans(view: View, chosen: str) -> Markup:
    """Link to other lengths of the charts."""
    return el(
        "nav",
        (
            el(
                "a",
                name,
                href=view.href(span=name),
                aria_current="true" if name == chosen else None,
                data_swap=True,
            )
            for name in SPANS
        ),
        class_="spans",
        aria_label="time shown",
    )


def pager(view: View, found: int, *, of: str) -> Markup | None:
    """Say which part is shown, and link to the parts before and after it."""
    if found <= ROWS and not view.offset:
        return None
    last = min(found, view.offset + ROWS)
    first = min(view.offset + 1, last)
    before = view.href(offset=max(0, view.offset - ROWS)) if view.offset else None
    after = view.href(offset=view.offset + ROWS) if last < found else None
    return el(
        "nav",
        el("span", f"{first} to {last} of {found} {of}"),
        _step("before", "← before", before),
        _step("after", "after →", after),
        class_="pager",
        aria_label=f"pages of {of}",
    )


def search(view: View, *, hint: str) -> Markup:
    """Build the search: a form that works by itself, and at each key where there is a script."""
    kept = (
        ("reason", view.reason),
        ("signal", view.signal),
        ("state", view.state),
        ("span", view.span),
    )
    return el(
        "form",
        el(
            "input",
            type="search",
            name="q",
            value=view.q,
            placeholder=hint,
            aria_label=hint,
            autocomplete="off",
            spellcheck="false",
            maxlength=200,
        ),
        (el("input", type="hidden", name=name, value=value) for name, value in kept if value),
        action=view.path or "./",
        method="get",
        role="search",
    )


def _step(rel: str, label: str, href: str | None) -> Markup:
    if href is None:
        return el("span", label, class_="off")
    return el("a", label, href=href, rel="prev" if rel == "before" else "next", data_swap=True)
