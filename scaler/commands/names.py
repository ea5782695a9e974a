"""How a command line names what is explained or captured, as kubectl would."""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scaler.core.model import Name

SHOWN = 20
"""Objects that a refusal names."""
ALLOWED = (
    "NAMESPACE/NAME or scaledobject/NAME -n NAMESPACE does, and a WorkerScale workerscale/NAME -n "
    "NAMESPACE, a Workload workload/NAME -n NAMESPACE, a ClusterQueue clusterqueue/NAME"
)


class Sort(StrEnum):
    """What can be named, each by its kind."""

    SCALED_OBJECT = "ScaledObject"
    WORKER_SCALE = "WorkerScale"
    CLUSTER_QUEUE = "ClusterQueue"
    WORKLOAD = "Workload"


def _words(sort: Sort, group: str, *short: str) -> dict[str, Sort]:
    one, several = sort.lower(), f"{sort.lower()}s"
    words = (one, several, *short, f"{one}.{group}", f"{several}.{group}")
    return dict.fromkeys(words, sort)


WORDS = {
    **_words(Sort.SCALED_OBJECT, "keda.sh", "so"),
    **_words(Sort.WORKER_SCALE, "kueue-gpu-scaler.dev", "wscale"),
    **_words(Sort.CLUSTER_QUEUE, "kueue.x-k8s.io", "cq"),
    **_words(Sort.WORKLOAD, "kueue.x-k8s.io", "wl", "kwl"),
}
"""What kubectl calls the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An object that a command line names."""

    sort: Sort
    name: "Name"
    """Namespace (empty for a ClusterQueue) and name."""

    def __str__(self) -> str:
        return f"{self.sort} {_written(self.name)}"


def named(text: str, namespace: str | None) -> Named:
    """Read `KIND/NAME` with a namespace beside it, `KIND/NAMESPACE/NAME`, or `NAMESPACE/NAME`.

    Raises:
        ValueError: one sentence that says what is allowed.
    """
    first, slash, rest = text.partition("/")
    sort = WORDS.get(first.lower()) if slash else None
    if sort is Sort.CLUSTER_QUEUE and rest and "/" not in rest:
        return Named(sort=sort, name=("", rest))
    if sort is not None and namespace is None and rest and "/" not in rest:
        raise ValueError(f"{text!r} needs a namespace: {first}/{rest} -n NAMESPACE")
    place, name = _placed(text if sort is None else rest, namespace)
    if not place or not name or "/" in name or sort is Sort.CLUSTER_QUEUE:
        raise ValueError(f"{text!r} names no ScaledObject; {ALLOWED}")
    return Named(sort=sort or Sort.SCALED_OBJECT, name=(place, name))


def _placed(text: str, namespace: str | None) -> "Name":
    if namespace is not None:
        return namespace, text
    place, _, name = text.partition("/")
    return place, name


def not_there(what: Named, names: "Iterable[Name]", *, told: str, which: str) -> str:
    """Say that there is no such object: which may be meant, and which there are."""
    there = sorted(names)
    if not there:
        return f"{what} {told}; there is none"
    close = _close(what.name, there)
    meant = "" if close is None else f"do you mean {_written(close)}? "
    more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
    return f"{what} {told}; {meant}{which} {', '.join(map(_written, there[:SHOWN]))}{more}"


def _close(name: "Name", names: "Sequence[Name]") -> "Name | None":
    """Give the closest of the same namespace; where it has none, of the others.

    No object has a capital letter in its name; whoever types one means the small one.
    """
    name = (name[0].lower(), name[1].lower())
    beside = {one[1]: one for one in names if one[0] == name[0]}
    others = {_written(one): one for one in names}
    wanted, known = (name[1], beside) if beside else (_written(name), others)
    return next((known[one] for one in get_close_matches(wanted, known, n=1)), None)


def _written(name: "Name") -> str:
    return "/".join(part for part in name if part)
