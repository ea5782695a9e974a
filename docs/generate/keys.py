"""The page of the trigger's metadata, from its parser and its records."""

import dataclasses
from collections.abc import Mapping, Sequence
from enum import StrEnum

from docs.generate.docstrings import told
from docs.generate.markdown import code, page, section, sentence, table
from scaler.core.metadata import IDLE_KEYS, KEDA_KEYS, QUEUE_KEYS, parse
from scaler.core.quantity import format_duration
from scaler.core.trigger import IdleTrigger, InvalidTrigger, QueueTrigger

WRONG = ("0s", " ")
"""Of these no key allows both; of durations the first tells more."""
ATTRIBUTES: Mapping[str, str] = {"clusterQueue": "cluster_queues", "resourceFlavor": "flavor"}
"""Where a key is not its attribute in camel case."""
BY_RULE: Mapping[str, tuple[str, str]] = {
    "shrink": (
        "`never`",
        (
            "Nodes are never taken away by KEDA, which can't choose which one goes. The key goes "
            "with `unit: nodes` and `scope: total` alone."
        ),
    ),
}
"""Keys without an attribute, since they have one value: default and meaning."""
REQUIRED = frozenset({"cluster_queues"})
HEAD = ("key", "default", "allowed", "meaning")


def metadata_page() -> str:
    """Give docs/reference/metadata.md."""
    return page(
        "Trigger metadata",
        "Every key that a trigger of ours takes, what is allowed, and what counts where it is left "
        "out. All values are text. A key that is unknown, or that belongs to the other signal, is "
        "refused, with every other mistake at once.",
        _keys("signal: queue", "queue", QUEUE_KEYS, QueueTrigger),
        _keys("signal: idle", "idle", IDLE_KEYS, IdleTrigger),
        section(
            "Of KEDA",
            "What KEDA reads of a trigger itself. It passes these keys on with the rest, and the "
            "parser knows them: " + ", ".join(code(key) for key in sorted(KEDA_KEYS)) + ".",
        ),
        section(
            "Without `FromEnv`",
            "A key of ours that ends in `FromEnv` is refused: KEDA drops it without a word where "
            "the variable is empty.",
        ),
    )


def _keys(title: str, signal: str, keys: Sequence[str], record: type) -> str:
    rows = [_row(key, signal, record) for key in keys]
    return section(code(title), table(HEAD, rows))


def _row(key: str, signal: str, record: type) -> tuple[str, str, str, str]:
    if key in BY_RULE:
        default, meaning = BY_RULE[key]
        return code(key), default, code("never"), meaning
    attribute = ATTRIBUTES.get(key, _snake(key))
    return (
        code(key),
        _default(record, attribute),
        allowed(key, signal),
        sentence(told(record, attribute)),
    )


def allowed(key: str, signal: str) -> str:
    """Give what the parser says is allowed for a key."""
    for value in WRONG:
        parsed = parse({"signal": signal, key: value})
        problems = parsed.problems if isinstance(parsed, InvalidTrigger) else ()
        for problem in problems:
            if problem.path == key:
                return problem.allowed.removeprefix("allowed is ").removeprefix("allowed are ")
    raise TypeError(f"{key} takes anything")


def _default(record: type, attribute: str) -> str:
    (found,) = (each for each in dataclasses.fields(record) if each.name == attribute)
    value = found.default
    if attribute in REQUIRED:
        return "required"
    match value:
        case None:
            return "policy" if record is IdleTrigger and attribute in POLICY_DECIDES else ""
        case bool():
            return code(str(value).lower())
        case float():
            return code(format_duration(value))
        case StrEnum() | str() | int():
            return code(value)
        case _:
            raise TypeError(f"{attribute}: no way to write {value!r}")


POLICY_DECIDES = frozenset(
    {
        "idle_after",
        "busy_from_percent",
        "grace_after_start",
        "keep_alive",
        "wake",
        "dry_run",
    }
)
"""Attributes for which a policy speaks where the trigger does not."""


def _snake(key: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in key)
