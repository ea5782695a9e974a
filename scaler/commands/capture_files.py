"""Write what was seen of a cluster as a bundle's files."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from scaler.commands.capture_policy import without_secrets
from scaler.commands.capture_samples import Collected
from scaler.core.model import Kind, Name, SourceState
from scaler.core.quantity import format_instant
from scaler.core.sources import OPTIONAL
from scaler.core.trigger import TriggerRef
from scaler.kube.copies import copy_page
from scaler.live import Look
from scaler.sim.openmetrics import written_samples


class Copies:
    """Keep a copy of every object that is listed; pages come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[Kind, list[bytes]] = {}

    def page(self, kind: Kind, *, version: str, first: bool, raw: bytes) -> None:
        """Take a page, reduced to what is read; one that is no list is nobody's."""
        try:
            copied = copy_page(kind, version=version, raw=raw)
        except ValueError:
            return
        with self._lock:
            if first:
                self._objects[kind] = []
            self._objects.setdefault(kind, []).extend(copied)

    def of(self, kind: Kind) -> Sequence[bytes]:
        """Give the kind's objects, each as JSON."""
        return self._objects.get(kind, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Everything that goes into a bundle."""

    look: Look
    kind: Kind | None
    """Of what is captured: SCALED_OBJECTS, WORKER_SCALES, or None for a trigger of neither."""
    name: Name
    refs: tuple[TriggerRef, ...]
    """The triggers that decide for it; of neither it is one."""
    policy_text: str | None
    copies: Copies
    collected: Collected


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One file of a bundle, or with `there` False why it is missing."""

    name: str
    what: str
    there: bool = True


def write(folder: Path, captured: Captured) -> tuple[Written, ...]:
    """Write the bundle.

    Raises:
        OSError: a file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "objects").mkdir(exist_ok=True)
    at = format_instant(captured.look.at)
    (folder / "now").write_text(f"{at}\n", encoding="utf-8")
    return (
        Written(name="now", what=at),
        _policy(folder, captured.policy_text),
        _trigger(folder, captured),
        *(_objects(folder, kind, captured) for kind in Kind),
        _samples(folder, captured.collected),
    )


def _policy(folder: Path, text: str | None) -> Written:
    name = "policy.yaml"
    if text is None:
        return Written(name=name, what="the built-in defaults", there=False)
    (folder / name).write_text(without_secrets(text), encoding="utf-8")
    return Written(name=name, what="without header values, tokenFile, caFile and comments")


def _trigger(folder: Path, captured: Captured) -> Written:
    name, key = "trigger.yaml", captured.name
    if captured.kind is None:
        return _plain_trigger(folder / name, captured.refs[0])
    documents = map(msgspec.json.decode, captured.copies.of(captured.kind))
    document = next(each for each in documents if _key(each) == key)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    (folder / name).write_text(text, encoding="utf-8")
    return Written(name=name, what=f"{document['kind']} {'/'.join(key)}")


def _plain_trigger(path: Path, ref: TriggerRef) -> Written:
    """Write a trigger as KEDA would send it, without a ScaledObject around it."""
    plain = {"namespace": ref.namespace, "name": ref.name, "scalerMetadata": dict(ref.metadata)}
    path.write_text(yaml.safe_dump(plain, allow_unicode=True), encoding="utf-8")
    return Written(name=path.name, what=f"a trigger of its own for {ref.name}")


def _key(document: dict[str, dict[str, str]]) -> Name:
    metadata = document["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")


def _objects(folder: Path, kind: Kind, captured: Captured) -> Written:
    """Write a kind's list: none for a kind that could not be read, an empty one where it may lack.

    A file says that the kind was read; without one its decisions are those of a source that failed.
    """
    name = f"objects/{kind}.json"
    state = captured.look.snapshot.sources.get(kind, SourceState(synced=False))
    absent = not state.installed and kind in OPTIONAL
    if not state.synced and not absent:
        return Written(name=name, what=state.problem or "not read", there=False)
    objects = () if absent else captured.copies.of(kind)
    with (folder / name).open("wb") as file:
        file.write(b'{"apiVersion":"v1","kind":"List","items":[\n')
        file.write(b",\n".join(objects))
        file.write(b"\n]}\n")
    return Written(name=name, what="0, not installed" if absent else str(len(objects)))


def _samples(folder: Path, collected: Collected) -> Written:
    name, notes = "samples.om", "; ".join(collected.notes)
    if collected.samples is None:
        return Written(name=name, what=notes, there=False)
    with (folder / name).open("w", encoding="utf-8") as file:
        file.writelines(written_samples(collected.samples))
    count = sum(map(len, collected.samples.values()))
    told = f"{count} samples of {len(collected.samples)} series"
    return Written(name=name, what=f"{told}; {notes}" if notes else told)
