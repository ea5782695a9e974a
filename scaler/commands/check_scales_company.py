"""What must hold between WorkerScales, and between ScaledObjects and what they target."""

from collections.abc import Iterator, Mapping

from scaler.commands.check_files import Checked, Finding, Manifest, at
from scaler.commands.check_rules import our_triggers
from scaler.commands.check_scales import kind_of, mode_of
from scaler.core.hold.kinds import KINDS, SUPPORTED
from scaler.core.model import Mode
from scaler.core.scales import KIND
from scaler.core.trigger import IdleTrigger
from scaler.policyfile.document import Tree, shown

_CLASS = "serving.kserve.io/autoscalerClass"
_MODE = "serving.kserve.io/deploymentMode"
_WITHOUT_DEPLOYMENT = ("Serverless", "Knative", "ModelMesh")
_PREDICTOR = "-predictor"


def judge_scales_together(checked: Checked) -> Iterator[Finding]:
    """Judge WorkerScales and KServe predictors with the policies and objects of all files."""
    scales = [one for one in checked.manifests if one.kind == KIND]
    services = [one for one in checked.manifests if one.kind == "InferenceService"]
    for place, scale in enumerate(scales):
        yield from _allow_list(scale, checked)
        yield from _twins(scale, scales[:place])
    for manifest in checked.manifests:
        if manifest.kind == "ScaledObject" and our_triggers(manifest):
            yield from _predictor(manifest, services)
            yield from _other_workers(manifest, scales)


def _allow_list(scale: Manifest, checked: Checked) -> Iterator[Finding]:
    kind = kind_of(scale)
    for policy in checked.policies:
        allowed = policy.worker_scales.kinds
        if kind in SUPPORTED and kind not in allowed:
            listed = ", ".join(one for one in KINDS if one in allowed) or "none"
            said = f"the policy's workerScales.kinds allows {listed}"
            yield scale.error(("spec", "target", "kind"), value=kind, allowed=said)


def _twins(scale: Manifest, earlier: list[Manifest]) -> Iterator[Finding]:
    """Two WorkerScales of the same workers: the older one acts."""
    for other in earlier:
        if _meets(scale, other) and _same_workers(scale, other):
            allowed = f"{other.subject} has the same workers: the older one acts, the other waits"
            yield scale.error(("spec", "target"), value=_named(scale), allowed=allowed)
            return


def _same_workers(one: Manifest, other: Manifest) -> bool:
    if one.name == other.name or _named(one) != _named(other):
        return False
    components = [at(each.tree, "spec", "target", "component") for each in (one, other)]
    whole = Mode.RELEASE in (mode_of(one), mode_of(other))
    return whole or str(components[0]).lower() == str(components[1]).lower()


def _named(scale: Manifest) -> str:
    return f"{kind_of(scale)}/{at(scale.tree, 'spec', 'target', 'name')}"


def _meets(one: Manifest, other: Manifest) -> bool:
    """Compare namespaces; one that a file leaves out may be any."""
    places = {one.namespace, other.namespace}
    return len(places) == 1 or "" in places


def _predictor(manifest: Manifest, services: list[Manifest]) -> Iterator[Finding]:
    """KServe undoes what is scaled beside it, but for one class of autoscaler."""
    target = at(manifest.tree, "spec", "scaleTargetRef")
    name = str(at(target, "name") or "")
    if at(target, "kind") not in (None, "Deployment") or not name.endswith(_PREDICTOR):
        return
    for service in services:
        given = at(service.tree, "metadata", "annotations", _CLASS)
        own = service.name == name.removesuffix(_PREDICTOR) and _meets(manifest, service)
        if own and at(service.tree, "metadata", "annotations", _MODE) in _WITHOUT_DEPLOYMENT:
            yield _without_deployment(manifest, service)
        elif own and given != "external":
            default = " (the default is hpa)" if given is None else ""
            allowed = (
                f"{service.subject} needs the annotation {_CLASS}: external{default}, else KServe "
                "or its own HPA sets the size too"
            )
            value = "" if given is None else shown(given)
            yield manifest.error(("spec", "scaleTargetRef", "name"), value=value, allowed=allowed)


def _without_deployment(manifest: Manifest, service: Manifest) -> Finding:
    allowed = (
        f"{service.subject} needs the annotation {_MODE}: Standard, else no Deployment is made"
    )
    value = shown(at(service.tree, "metadata", "annotations", _MODE))
    return manifest.error(("spec", "scaleTargetRef", "name"), value=value, allowed=allowed)


def _other_workers(manifest: Manifest, scales: list[Manifest]) -> Iterator[Finding]:
    """Say that a trigger judges other workers than its WorkerScale would take."""
    target = at(manifest.tree, "spec", "scaleTargetRef")
    name = at(target, "name") if at(target, "kind") == KIND else None
    for scale in scales:
        if scale.name == name and _meets(manifest, scale):
            yield from _named_otherwise(manifest, scale)


def _named_otherwise(manifest: Manifest, scale: Manifest) -> Iterator[Finding]:
    own: Mapping[str, Tree] = {
        "workload": _named(scale),
        "component": at(scale.tree, "spec", "target", "component"),
    }
    for trigger in our_triggers(manifest):
        if not isinstance(trigger.parsed, IdleTrigger):
            continue
        for key, value in own.items():
            given = trigger.metadata.get(key)
            if given is not None and str(given).lower() != str(value).lower():
                workers = " ".join(str(one) for one in own.values() if one is not None)
                allowed = f"leave it out: {scale.subject} takes {workers}, which must be idle too"
                path = (*trigger.path, "metadata", key)
                yield manifest.warning(path, value=str(given), allowed=allowed)
