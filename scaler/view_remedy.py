"""What would have to change for another answer, as people and programs are shown it."""

from collections.abc import Iterable, Sequence

import msgspec

from scaler.core.decision import Decision
from scaler.core.quantity import format_instant
from scaler.core.remedy.remedy import Remedy
from scaler.view import Shown, lines, shown


class ShownOutcome(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What is decided once the change is made."""

    status: str
    reason: str
    value: int | None


class ShownRemedy(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, kw_only=True):
    """One change that gives another answer."""

    lever: str
    text: str
    subject: str = ""
    flavor: str = ""
    more: dict[str, int] = {}
    """How much more of what; cpu in millicores, memory in bytes."""
    at: str | None = None
    then: ShownOutcome | None = None


class ShownExplained(Shown, rename="camel", frozen=True, kw_only=True):
    """A Decision, and what would have to change for another."""

    changes: tuple[ShownRemedy, ...]


def shown_remedy(remedy: Remedy) -> ShownRemedy:
    """Give a Remedy in the form that is shown."""
    then = remedy.then
    return ShownRemedy(
        lever=remedy.lever,
        text=remedy.text,
        subject=remedy.subject,
        flavor=remedy.flavor,
        more=dict(remedy.more),
        at=None if remedy.at is None else format_instant(remedy.at),
        then=None
        if then is None
        else ShownOutcome(status=then.status, reason=then.reason, value=then.value),
    )


def shown_explained(decision: Decision, remedies: Iterable[Remedy]) -> ShownExplained:
    """Give a Decision with its Remedies in the form that is shown."""
    plain = shown(decision)
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return ShownExplained(**fields, changes=tuple(map(shown_remedy, remedies)))


def explained_lines(decision: Decision, remedies: Sequence[Remedy]) -> tuple[str, ...]:
    """Give a Decision with its Remedies as lines for a terminal, the Remedies before the rest."""
    head, *rest = lines(decision)
    return (head, *rest[:2], *remedy_lines(remedies), *rest[2:])


def remedy_lines(remedies: Iterable[Remedy]) -> tuple[str, ...]:
    """Give each Remedy as a line."""
    return tuple(f"  to change {one.text}" for one in remedies)
