"""The page of reasons, from the closed sets of words."""

from collections.abc import Sequence
from enum import StrEnum

from docs.generate.docstrings import told
from docs.generate.markdown import code, page, section, sentence, table
from scaler.actuator.words import Happening
from scaler.core.hold.words import Cause, State
from scaler.core.reasons import Reason, WorkloadClass

HEAD = ("word", "meaning")
QUEUE, IDLE, UNKNOWN = Reason.DEMAND, Reason.BUSY, Reason.NOT_SYNCED
"""The first word of each group, in the order of the enum."""


def reasons_page() -> str:
    """Give docs/reference/reasons.md."""
    words = list(Reason)
    idle, unknown = words.index(IDLE), words.index(UNKNOWN)
    return page(
        "Reasons",
        "Every word with which a decision, a class of Workloads or a WorkerScale is explained: in "
        "`/decisions`, on the page, in metrics' labels, in Events and by `explain`. The sets are "
        "closed: there are no others.",
        section("Of a queue signal", "A value came out.", _table(words[words.index(QUEUE) : idle])),
        section("Of an idle signal", "A verdict came out.", _table(words[idle:unknown])),
        section(
            "Of a hold",
            "Something is not known, so nothing is changed: KEDA gets "
            "[the answer that keeps the size](../decisions.md#when-something-is-not-known).",
            _table(words[unknown:]),
        ),
        section(
            "Classes of Workloads",
            "Each Workload is in exactly one. A, B, D and J may need nodes.",
            _table(list(WorkloadClass)),
        ),
        section("States of a WorkerScale", "`status.state`.", _table(list(State))),
        section(
            "Causes of a WorkerScale",
            "`status.reason`, and the reason of its conditions.",
            _table(list(Cause)),
        ),
        section(
            "Events of a WorkerScale",
            "Reasons of the Events on it, its target and its ScaledObject.",
            _table(list(Happening)),
        ),
    )


def _table(words: Sequence[StrEnum]) -> str:
    return table(HEAD, ((code(word), sentence(told(type(word), word.name))) for word in words))
