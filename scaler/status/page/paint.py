"""Colour shapes by tone: hatched where there is no value."""

from scaler.status.page.markup import Markup, el
from scaler.status.page.tone import Tone

HATCHED = frozenset({Tone.UNKNOWN, Tone.INVALID, Tone.UNSEEN})


def swatch(kind: Tone) -> Markup:
    """Draw a colour, small."""
    return el(
        "svg",
        el("rect", width="100%", height="100%", rx=2, **fill(kind)),
        class_="swatch",
        width=12,
        height=12,
        aria_hidden="true",
    )


def fill(kind: Tone) -> dict[str, str]:
    """Colour by class; patterns are named on the page, not in the style sheet."""
    hatch = {"fill": f"url(#hatch-{kind})"} if kind in HATCHED else {}
    return {"class_": f"t-{kind}", **hatch}
