"""Write times, ages and amounts; ages run on in the browser, so a page need not change for them."""

from datetime import UTC, datetime

from scaler.core.model import Amounts, Instant
from scaler.core.quantity import format_amount, format_instant
from scaler.status.page.markup import Markup, el
from scaler.status.page.timeline import Since

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def span_words(seconds: float) -> str:
    """Write a length in its two largest units: `3m 20s`, `2h 5m`, `4d 1h`."""
    whole = max(0, round(seconds))
    for unit, size, below, less in (
        ("d", _DAY, "h", _HOUR),
        ("h", _HOUR, "m", _MINUTE),
        ("m", _MINUTE, "s", 1),
    ):
        if whole >= size:
            rest = whole % size // less
            return f"{whole // size}{unit}" + (f" {rest}{below}" if rest else "")
    return f"{whole}s"


def amounts_words(amounts: Amounts) -> str:
    """Write resources as a manifest does, in one line."""
    return ", ".join(f"{name} {format_amount(name, number)}" for name, number in amounts) or "none"


def clock_time(moment: Instant) -> str:
    """Write the time of day in UTC."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%H:%M")


def day_time(moment: Instant) -> str:
    """Write day and time in UTC."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%d %b %H:%M")


def age(moment: Instant | None, *, now: Instant, at_least: bool = False) -> Markup:
    """Write since when something is so; the browser makes an age of it and lets it run."""
    if moment is None:
        return el("span", "not seen", class_="soft")
    whole = round(moment)
    words = clock_time(whole) if now - whole < _DAY else day_time(whole)
    return el(
        "time",
        f"{'before' if at_least else 'since'} {words} UTC",
        datetime=format_instant(whole),
        data_age=whole,
        data_least=at_least,
    )


def age_of(since: Since | None, *, now: Instant) -> Markup:
    """Write for how long a reason is in force, as far as it was seen."""
    if since is None:
        return age(None, now=now)
    return age(since.at, now=now, at_least=since.at_least)


def moment_words(moment: Instant) -> Markup:
    """Write an instant."""
    return el("time", f"{day_time(moment)} UTC", datetime=format_instant(int(moment)))
