"""What a ScaledObject with our triggers must and should say, judged by itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scaler.commands.check_files import Finding, Manifest, Severity, at
from scaler.commands.check_tls import judge_tls
from scaler.core.metadata import parse
from scaler.core.quantity import amount
from scaler.core.trigger import (
    IdleTrigger,
    InvalidTrigger,
    Problem,
    QueueTrigger,
    Scope,
    Trigger,
    Unit,
)
from scaler.policyfile.document import Path, Tree, shown, written

LONGEST_NAME = 54
"""KEDA names the HPA keda-hpa-NAME, and a label of it holds 63 characters."""
SHORT_COOLDOWN = 300
"""Seconds; KEDA's own default."""
SPEC_KEYS = (
    "scaleTargetRef",
    "pollingInterval",
    "initialCooldownPeriod",
    "cooldownPeriod",
    "idleReplicaCount",
    "minReplicaCount",
    "maxReplicaCount",
    "advanced",
    "triggers",
    "fallback",
)
_DEFAULT_MAX = 100
_BEHAVIOR = ("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
_PAUSED_SCALE_IN = "autoscaling.keda.sh/paused-scale-in"
_SMALL = 10
"""Up to this size a step of one is more than the tolerance of 10 %."""
_ENOUGH = 'the HPA ignores changes within 10 %, so a small one is swallowed: set "0"'


@dataclass(frozen=True, slots=True, kw_only=True)
class OurTrigger:
    """A trigger of ours in a file."""

    path: Path
    metadata: Mapping[str, Tree]
    metric_type: Tree
    parsed: Trigger | InvalidTrigger

    @property
    def sizes_pool(self) -> bool:
        """Say whether its value is the target size of a node pool."""
        match self.parsed:
            case QueueTrigger(unit=Unit.NODES, scope=Scope.TOTAL):
                return True
            case _:
                return False


def our_triggers(manifest: Manifest) -> tuple[OurTrigger, ...]:
    """Give the triggers of a ScaledObject or ScaledJob that are ours."""
    listed = at(manifest.tree, "spec", "triggers")
    triggers = listed if isinstance(listed, list | tuple) else ()
    found: list[OurTrigger] = []
    for place, trigger in enumerate(triggers):
        metadata = at(trigger, "metadata")
        if isinstance(metadata, Mapping) and _is_ours(at(trigger, "type"), metadata):
            text = {key: shown(value) for key, value in metadata.items()}
            found.append(
                OurTrigger(
                    path=("spec", "triggers", place),
                    metadata=metadata,
                    metric_type=at(trigger, "metricType"),
                    parsed=parse(text | {k: v for k, v in metadata.items() if isinstance(v, str)}),
                )
            )
    return tuple(found)


def _is_ours(kind: Tree, metadata: Mapping[str, Tree]) -> bool:
    """Know ours by the key `signal`, or by an address that names the service."""
    address = str(metadata.get("scalerAddress", ""))
    named = {"signal", "signalFromEnv"} & metadata.keys() or "kueue-gpu-scaler" in address
    return kind in ("external", "external-push") and bool(named)


def judge(manifest: Manifest) -> Iterator[Finding]:
    """Judge a ScaledObject or ScaledJob; one without a trigger of ours is no business of ours."""
    ours = our_triggers(manifest)
    if not ours:
        return
    if manifest.kind == "ScaledJob":
        path = (*ours[0].path, "type")
        yield manifest.error(path, value="external", allowed="a ScaledJob can't have our trigger")
        return
    yield from _keys(manifest)
    yield from _whole(manifest)
    for trigger in ours:
        yield from _metadata(manifest, trigger)
        yield from judge_tls(manifest, trigger.path, trigger.metadata)
        yield from _tolerance(manifest, trigger)
        yield from _idle_sizes(manifest, trigger)
    yield from _scale_in(manifest, ours)
    yield from _cooldown(manifest)


def _keys(manifest: Manifest) -> Iterator[Finding]:
    """Say which keys the API server would drop without a word."""
    spec = at(manifest.tree, "spec")
    for key in spec if isinstance(spec, Mapping) else ():
        if key not in SPEC_KEYS:
            allowed = f"KEDA has no such key, and drops it; it has {', '.join(SPEC_KEYS)}"
            yield manifest.warning(("spec", key), value="", allowed=allowed)


def _whole(manifest: Manifest) -> Iterator[Finding]:
    spec = at(manifest.tree, "spec")
    if not manifest.name:
        yield manifest.error(("metadata", "name"), value="", allowed="it is required")
    if len(manifest.name) > LONGEST_NAME:
        allowed = f"the HPA keda-hpa-NAME takes at most {LONGEST_NAME} characters of it"
        yield manifest.warning(("metadata", "name"), value=manifest.name, allowed=allowed)
    if at(spec, "fallback") is not None:
        allowed = "leave it out: it puts a number where data is missing, and so scales down"
        yield manifest.error(
            ("spec", "fallback"), value=shown(at(spec, "fallback")), allowed=allowed
        )
    modifiers = at(spec, "advanced", "scalingModifiers")
    if modifiers:
        path = ("spec", "advanced", "scalingModifiers")
        allowed = "leave it out: a formula turns the answer to missing data into an error"
        yield manifest.error(path, value=shown(modifiers), allowed=allowed)


def _metadata(manifest: Manifest, trigger: OurTrigger) -> Iterator[Finding]:
    if trigger.metric_type not in (None, "AverageValue"):
        allowed = "allowed is AverageValue, or nothing: others multiply by the pods that run"
        path = (*trigger.path, "metricType")
        yield manifest.error(path, value=shown(trigger.metric_type), allowed=allowed)
    if not trigger.metadata.get("scalerAddress"):
        path = (*trigger.path, "metadata", "scalerAddress")
        allowed = "it is required: HOST:PORT of the Service, as KEDA reaches it"
        yield manifest.error(path, value="", allowed=allowed)
    for key, value in trigger.metadata.items():
        if not isinstance(value, str):
            path = (*trigger.path, "metadata", key)
            yield manifest.error(path, value=shown(value), allowed="metadata is text: quote it")
    if isinstance(trigger.parsed, InvalidTrigger):
        for problem in trigger.parsed.problems:
            place = f"{written((*trigger.path, 'metadata'))}.{problem.path}"
            moved = Problem(path=place, value=problem.value, allowed=problem.allowed)
            yield manifest.finding(Severity.ERROR, moved)

    match trigger.parsed:
        case QueueTrigger(pool=str(pool), gpus_per_node=int(each)):
            path = (*trigger.path, "metadata", "gpusPerNode")
            allowed = f"it counts for nothing beside pool {pool}, whose node has a shape already"
            yield manifest.warning(path, value=str(each), allowed=allowed)
        case _:
            pass


def _scale_in(manifest: Manifest, ours: tuple[OurTrigger, ...]) -> Iterator[Finding]:
    """A pool never shrinks by KEDA, neither by the HPA nor to zero; idle workers must."""
    annotation = ("metadata", "annotations", _PAUSED_SCALE_IN)
    paused = at(manifest.tree, *annotation) == "true"
    policy_path = (*_BEHAVIOR, "scaleDown", "selectPolicy")
    policy = at(manifest.tree, *policy_path)
    if any(trigger.sizes_pool for trigger in ours):
        if policy != "Disabled":
            allowed = "allowed is Disabled: the HPA picks nodes to remove without looking at jobs"
            value = "" if policy is None else shown(policy)
            yield manifest.error(policy_path, value=value, allowed=allowed)
        if not paused:
            allowed = 'should be "true": selectPolicy does not keep KEDA itself from going to zero'
            yield manifest.warning(annotation, value="", allowed=allowed)
    elif paused and any(isinstance(trigger.parsed, IdleTrigger) for trigger in ours):
        allowed = "it keeps idle workers from ever going to zero"
        yield manifest.warning(annotation, value="true", allowed=allowed)


def _idle_sizes(manifest: Manifest, trigger: OurTrigger) -> Iterator[Finding]:
    """Sizes that the ScaledObject does not let an idle trigger reach."""
    if not isinstance(trigger.parsed, IdleTrigger):
        return
    least, most, idle = sizes(manifest)
    kind, replicas = at(manifest.tree, "spec", "scaleTargetRef", "kind"), trigger.parsed.replicas
    if least >= 1 and idle is None and kind != "StatefulSet":  # theirs are judged with Kueue's
        allowed = "it keeps idle workers from ever going to zero, without idleReplicaCount: 0"
        yield manifest.warning(("spec", "minReplicaCount"), value=str(least), allowed=allowed)
    if replicas is not None and replicas > most:
        path = (*trigger.path, "metadata", "replicas")
        allowed = f"KEDA wakes to maxReplicaCount at most, which is {most}"
        yield manifest.warning(path, value=str(replicas), allowed=allowed)


def _tolerance(manifest: Manifest, trigger: OurTrigger) -> Iterator[Finding]:
    match trigger.parsed:
        case QueueTrigger():
            disabled = at(manifest.tree, *_BEHAVIOR, "scaleDown", "selectPolicy") == "Disabled"
            directions = ("scaleUp",) if disabled else ("scaleUp", "scaleDown")
        case IdleTrigger(replicas=int(replicas)) if replicas > _SMALL:
            directions = ("scaleUp",)
        case _:
            return
    for direction in directions:
        path = (*_BEHAVIOR, direction, "tolerance")
        tolerance = at(manifest.tree, *path)
        if not _is_zero(tolerance):
            value = "" if tolerance is None else shown(tolerance)
            yield manifest.warning(path, value=value, allowed=_ENOUGH)


def _is_zero(tolerance: Tree) -> bool:
    if not isinstance(tolerance, str | int | float) or isinstance(tolerance, bool):
        return False
    try:
        return amount("cpu", tolerance) == 0
    except ValueError:
        return False


def _cooldown(manifest: Manifest) -> Iterator[Finding]:
    initial, cooldown = (
        at(manifest.tree, "spec", key) for key in ("initialCooldownPeriod", "cooldownPeriod")
    )
    if not isinstance(initial, int) or initial <= 0:
        allowed = "set it: it keeps a target that was just created from going to zero at once"
        value = "" if initial is None else shown(initial)
        yield manifest.warning(("spec", "initialCooldownPeriod"), value=value, allowed=allowed)
    if cooldown is not None and (not isinstance(cooldown, int) or cooldown < SHORT_COOLDOWN):
        allowed = f"below {SHORT_COOLDOWN} seconds a short outage of KEDA's polls may reach zero"
        yield manifest.warning(("spec", "cooldownPeriod"), value=shown(cooldown), allowed=allowed)


def sizes(manifest: Manifest) -> tuple[int, int, int | None]:
    """Give minReplicaCount, maxReplicaCount and idleReplicaCount, KEDA's defaults filled in."""
    least, most, idle = (
        at(manifest.tree, "spec", key)
        for key in ("minReplicaCount", "maxReplicaCount", "idleReplicaCount")
    )
    return (
        least if isinstance(least, int) else 0,
        most if isinstance(most, int) else _DEFAULT_MAX,
        idle if isinstance(idle, int) else None,
    )
