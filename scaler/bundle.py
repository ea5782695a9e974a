"""A decision in a folder: read it, join it, decide from it alone.

Layout: `now`, `policy.yaml`, `trigger.yaml`, `objects/PLURAL.yaml` (or .yml, .json), `samples.om`.
A kind without a file is a source that did not sync; without `samples.om` Prometheus is down.
`trigger.yaml` is the ScaledObject, or a WorkerScale: then it is planned, from the objects that
would be changed too, as in `rayclusters.yaml`. A target of no watched kind, like a MachineSet, has
its size from the HPA that the ScaledObject's status.hpaName names, which is in
`horizontalpodautoscalers.yaml` with the labels or the owner that KEDA gave it. An exporter's own
pod belongs into `pods.yaml` where series are named by it: a pod that is not there is taken for
gone, and its series count for nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import yaml

from scaler.core.decide import decide
from scaler.core.decision import Decision
from scaler.core.idle.wanted import wanted
from scaler.core.model import Instant, Kind, Name, ScaledObject, SourceState, WorkerScale
from scaler.core.policy import Policy
from scaler.core.quantity import instant
from scaler.core.scales import refs_of_scale
from scaler.core.snapshot import Snapshot
from scaler.core.trigger import Problem, TriggerRef
from scaler.kube.decode import decode
from scaler.kube.forms import Record
from scaler.observer.changes import Changed, Listed, SourceChanged, UsageRead
from scaler.observer.join import Joiner
from scaler.observer.observer import refs_of
from scaler.policyfile import parse_policy
from scaler.sim.openmetrics import OpenMetricsError, read_samples
from scaler.sim.readings import read_usage

ENDINGS = (".yaml", ".yml", ".json")
_ASKED = {"ScaledObject": Kind.SCALED_OBJECTS, "WorkerScale": Kind.WORKER_SCALES}
_UNREADABLE = (
    yaml.YAMLError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)
"""A value that does not fit its tag, as `!!bool maybe`, raises whatever YAML stumbles over."""


class _Loader(yaml.CSafeLoader):
    """Read YAML as Kubernetes does: a time stays the text that was written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class BadBundle(Exception):  # noqa: N818 - named after what it says, not after its being an error
    """Carry everything that is wrong with a bundle."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A folder's content, decoded and joined."""

    at: Instant
    policy: Policy
    refs: tuple[TriggerRef, ...]
    """The triggers of trigger.yaml that are ours, in its order; those that decide for its scale."""
    scale: Name | None
    """The WorkerScale of trigger.yaml; None where that is a ScaledObject or a trigger."""
    snapshot: Snapshot

    def decisions(self) -> tuple[Decision, ...]:
        """Decide each trigger."""
        return tuple(
            decide(snapshot=self.snapshot, ref=ref, policy=self.policy, now=self.at)
            for ref in self.refs
        )


@dataclass(slots=True)
class _Reading:
    """Collect problems while reading, so that all are told at once."""

    folder: Path
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: str, value: object, allowed: str) -> None:
        self.problems.append(Problem(path=path, value=str(value), allowed=allowed))

    def text(self, name: str) -> str | None:
        path = self.folder / name
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(name, error, "a readable UTF-8 file is")
            return None

    def documents(self, name: str) -> list[object] | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            if name.endswith(".json"):
                return [msgspec.json.decode(text)]  # a hundred times as fast as YAML
            found = [doc for doc in yaml.load_all(text, Loader=_Loader) if doc is not None]
            msgspec.json.encode(found)  # an alias to itself or a null key is no Kubernetes object
        except _UNREADABLE as error:
            self.refuse(name, str(error).replace("\n", " "), "YAML or JSON is")
            return None
        return found


def load(folder: Path, *, also: Iterable[TriggerRef] = ()) -> Bundle:
    """Read a bundle; `also` are triggers that readings are joined for beside its own.

    Raises:
        BadBundle: with every problem in it, each with its path, value and what is allowed.
    """
    reading = _Reading(folder)
    at = _now(reading)
    policy = _policy(reading)
    joiner = Joiner(bundle=True)
    listed = _objects(reading, joiner, at)
    asked = _trigger(reading, joiner, at, listed)
    if reading.problems:
        raise BadBundle(reading.problems)
    return _join(reading, joiner, at=at, policy=policy, asked=asked, also=also)


def _now(reading: _Reading) -> Instant:
    text = reading.text("now")
    try:
        if text is None:
            reading.refuse("now", "(no file)", "an RFC 3339 instant is")
            return 0.0
        return instant(text.strip())
    except ValueError as error:
        reading.refuse("now", (text or "").strip(), f"an RFC 3339 instant is ({error})")
        return 0.0


def _policy(reading: _Reading) -> Policy:
    text = reading.text("policy.yaml")
    if text is None:
        return Policy()
    parsed = parse_policy(text)
    if isinstance(parsed, Policy):
        return parsed
    reading.problems += [
        Problem(path=f"policy.yaml: {p.path}", value=p.value, allowed=p.allowed) for p in parsed
    ]
    return Policy()


def _objects(reading: _Reading, joiner: Joiner, at: Instant) -> set[Kind]:
    """Apply each kind's file; give the kinds that have one."""
    names = sorted(p.name for p in (reading.folder / "objects").glob("*") if p.is_file())
    known = {f"{kind}{ending}": kind for kind in Kind for ending in ENDINGS}
    for name in names:
        if name not in known:
            allowed = ", ".join(f"{kind}.yaml" for kind in Kind)
            reading.refuse(f"objects/{name}", name, f"one of {allowed} is")
    files: dict[Kind, str] = {}
    for name in (name for name in names if name in known):
        first = files.setdefault(known[name], name)
        if first != name:
            reading.refuse(
                f"objects/{name}", name, f"one file a kind, and objects/{first} is there"
            )
    for kind in Kind:
        if kind in files:
            _apply(reading, joiner, kind, f"objects/{files[kind]}")
            state = SourceState(synced=True, last_alive=at)
        else:
            problem = f"objects/{kind}.yaml is not in the bundle"
            state = SourceState(synced=False, problem=problem)
        joiner.apply(SourceChanged(kind=kind, state=state))
    return set(files)


def _apply(reading: _Reading, joiner: Joiner, kind: Kind, name: str) -> None:
    records: list[Record] = []
    skipped = 0
    documents = reading.documents(name)
    if documents == []:
        allowed = "objects or a List are; `items: []` says that there are none"
        reading.refuse(name, "(nothing)", allowed)
    for document in documents or ():
        decoded = decode(kind, msgspec.json.encode(document))
        records += decoded.records
        skipped += decoded.skipped
    joiner.apply(Listed(kind=kind, records=records, skipped=skipped))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What trigger.yaml asks about: triggers, or a WorkerScale."""

    refs: tuple[TriggerRef, ...] = ()
    scale: WorkerScale | None = None


def _trigger(reading: _Reading, joiner: Joiner, at: Instant, listed: set[Kind]) -> _Asked:
    documents = reading.documents("trigger.yaml")
    if not documents or not isinstance(documents[0], dict):
        allowed = "a ScaledObject, a WorkerScale, or a map of namespace, name and scalerMetadata is"
        reading.refuse("trigger.yaml", "(nothing)" if not documents else documents[0], allowed)
        return _Asked()
    if len(documents) > 1:
        reading.refuse("trigger.yaml", f"{len(documents)} objects", "one is; others go to objects/")
    kind = _ASKED.get(str(documents[0].get("kind")))
    if kind is not None:
        return _of_object(reading, joiner, kind, documents[0], alive=None if kind in listed else at)
    try:
        plain = msgspec.convert(documents[0], _PlainTrigger, strict=False)
    except msgspec.ValidationError as error:
        reading.refuse("trigger.yaml", error, "namespace, name and scalerMetadata (texts) are")
        return _Asked()
    ref = TriggerRef.of(namespace=plain.namespace, name=plain.name, metadata=plain.scaler_metadata)
    return _Asked(refs=(ref,))


class _PlainTrigger(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What KEDA sends, without a ScaledObject around it."""

    namespace: str
    name: str
    scaler_metadata: dict[str, str]


def _of_object(
    reading: _Reading, joiner: Joiner, kind: Kind, document: object, *, alive: Instant | None
) -> _Asked:
    """Add the object to the others, so that the decision sees its target and bounds.

    `alive` is when its kind was listed, where it has no file of its own that says so.
    """
    decoded = decode(kind, msgspec.json.encode(document))
    for record in decoded.records:
        if alive is not None:
            state = SourceState(synced=True, last_alive=alive)
            joiner.apply(SourceChanged(kind=kind, state=state))
        joiner.apply(Changed(kind=kind, record=record))
        if isinstance(record, WorkerScale):
            return _Asked(scale=record)
        if isinstance(record, ScaledObject):
            return _triggers_of(reading, record)
    said = next(iter(decoded.problems), "(not decodable)")
    reading.refuse("trigger.yaml", said, "a ScaledObject with triggers, or a WorkerScale, is")
    return _Asked()


def _triggers_of(reading: _Reading, scaled_object: ScaledObject) -> _Asked:
    alone = Snapshot(at=0.0, scaled_objects={scaled_object.key: scaled_object})
    refs = tuple(refs_of(alone))
    if not refs:
        reading.refuse(
            "trigger.yaml", "(no trigger of ours)", "an external trigger with the key signal is"
        )
    return _Asked(refs=refs)


def _join(
    reading: _Reading,
    joiner: Joiner,
    *,
    at: Instant,
    policy: Policy,
    asked: _Asked,
    also: Iterable[TriggerRef],
) -> Bundle:
    """Join the objects, find out which readings the triggers want, and add those."""
    before, _ = joiner.snapshot(at=at)
    scale = asked.scale
    refs = asked.refs if scale is None else refs_of_scale(before, scale)
    every = {*refs, *refs_of(before), *also}
    want = wanted(snapshot=before, refs=every, policy=policy, now=at)
    text = reading.text("samples.om")
    try:
        samples = None if text is None else read_samples(text)
    except OpenMetricsError as error:
        reading.refuse("samples.om", error, "OpenMetrics text with timestamps is")
        raise BadBundle(reading.problems) from error
    read = read_usage(samples, policy=policy, usage=want.usage, queries=want.queries, at=at)
    joiner.apply(UsageRead(usage=read.usage, answers=read.answers))
    snapshot, _ = joiner.snapshot(at=at)
    name = None if scale is None else scale.key
    return Bundle(at=at, policy=policy, refs=refs, scale=name, snapshot=snapshot)
