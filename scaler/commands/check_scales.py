"""What a WorkerScale must and should say, judged by itself."""

import re
from collections.abc import Iterator, Mapping

from scaler.commands.check_files import Finding, Manifest, at
from scaler.core.hold.kinds import KINDS, SUPPORTED
from scaler.core.model import Mode
from scaler.core.quantity import duration
from scaler.core.scales import GROUP, KIND
from scaler.policyfile.document import Path, Tree, shown

_KEYS: Mapping[Path, tuple[str, ...]] = {
    ("spec",): ("target", "mode", "replicas", "maxHold"),
    ("spec", "target"): ("apiVersion", "kind", "name", "component"),
}
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_MAX_HOLD = re.compile(r"(?=.)([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?")
"""The CRD's own pattern: fewer units than elsewhere."""
_RAY_KINDS = ("RayCluster", "RayJob", "RayService")
_WITHOUT_WORKERS = ("head", "submitter")
_HOLDABLE = ", ".join(kind for kind, one in KINDS.items() if Mode.HOLD in one.modes)


def judge_scale(manifest: Manifest) -> Iterator[Finding]:
    """Judge a WorkerScale by itself, all problems at once."""
    if manifest.kind != KIND:
        return
    version = at(manifest.tree, "apiVersion")
    if str(version).rpartition("/")[0] != GROUP:
        value = "" if version is None else shown(version)
        allowed = f"allowed is {GROUP}/v1alpha1"
        yield manifest.error(("apiVersion",), value=value, allowed=allowed)
    if not manifest.name:
        yield manifest.error(("metadata", "name"), value="", allowed="it is required")
    yield from _keys(manifest)
    yield from _target(manifest)
    yield from _component(manifest)
    yield from _replicas(manifest)
    yield from _max_hold(manifest)


def _keys(manifest: Manifest) -> Iterator[Finding]:
    """Say which keys the API server would drop without a word."""
    for path, known in _KEYS.items():
        given = at(manifest.tree, *map(str, path))
        for key in given if isinstance(given, Mapping) else ():
            if key not in known:
                allowed = f"the key is unknown, and dropped; allowed are {', '.join(known)}"
                yield manifest.error((*path, key), value="", allowed=allowed)


def _target(manifest: Manifest) -> Iterator[Finding]:
    path: Path = ("spec", "target")
    kind, version = (at(manifest.tree, *map(str, path), key) for key in ("kind", "apiVersion"))
    if not at(manifest.tree, "spec", "target", "name"):
        yield manifest.error((*path, "name"), value="", allowed="it is required")
    known = KINDS.get(str(kind))
    if known is None or not known.modes:
        instead = f"; {known.instead}" if known is not None else ""
        allowed = f"allowed are {', '.join(k for k in KINDS if k in SUPPORTED)}{instead}"
        value = "" if kind is None else shown(kind)
        yield manifest.error((*path, "kind"), value=value, allowed=allowed)
    elif str(version).rpartition("/")[0] != known.group:
        value = "" if version is None else shown(version)
        allowed = f"a {kind} is of {known.group}"
        yield manifest.error((*path, "apiVersion"), value=value, allowed=allowed)
    yield from _mode(manifest)


def _mode(manifest: Manifest) -> Iterator[Finding]:
    given = at(manifest.tree, "spec", "mode")
    mode, known = mode_of(manifest), KINDS.get(kind_of(manifest))
    if mode is None:
        allowed = f"allowed are {', '.join(Mode)}; without it, {Mode.HOLD}"
        yield manifest.error(("spec", "mode"), value=shown(given), allowed=allowed)
    elif known is not None and known.modes and mode not in known.modes:
        default = f"without it the mode is {Mode.HOLD}, and " if given is None else ""
        allowed = (
            f"{default}{kind_of(manifest)} can't be held, Kueue would release or delete its "
            f"Workload; {known.instead}. Held can be {_HOLDABLE}"
        )
        yield manifest.error(("spec", "mode"), value=_given(given), allowed=allowed)


def _component(manifest: Manifest) -> Iterator[Finding]:
    path: Path = ("spec", "target", "component")
    component, mode = at(manifest.tree, "spec", "target", "component"), mode_of(manifest)
    if component is None:
        if mode is Mode.HOLD and "Hold" in _modes(manifest):
            allowed = "mode Hold needs it: the podset whose workers are held, as the worker group"
            yield manifest.error(path, value="", allowed=allowed)
    elif mode is Mode.RELEASE:
        allowed = "leave it out: mode Release takes every pod of the Workload"
        yield manifest.error(path, value=shown(component), allowed=allowed)
    elif not isinstance(component, str) or not _NAME.fullmatch(component):
        allowed = "allowed is a podset's name: letters, digits, -, _ and . (at most 63)"
        yield manifest.error(path, value=shown(component), allowed=allowed)
    elif kind_of(manifest) in _RAY_KINDS and component.lower() in _WITHOUT_WORKERS:
        allowed = "it holds no workers: name a worker group"
        yield manifest.error(path, value=component, allowed=allowed)


def _replicas(manifest: Manifest) -> Iterator[Finding]:
    replicas = at(manifest.tree, "spec", "replicas")
    if replicas is None:
        return
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        allowed = "allowed is a whole number, 0 or more"
        yield manifest.error(("spec", "replicas"), value=shown(replicas), allowed=allowed)
    else:
        allowed = "leave it out: KEDA writes it, and each apply of this file would set it back"
        yield manifest.warning(("spec", "replicas"), value=str(replicas), allowed=allowed)


def _max_hold(manifest: Manifest) -> Iterator[Finding]:
    given = at(manifest.tree, "spec", "maxHold")
    if given is None:
        return
    if not isinstance(given, str) or not _MAX_HOLD.fullmatch(given) or duration(given) <= 0:
        allowed = "allowed is a duration above 0s in hours, minutes and seconds: 90s, 30m, 1h30m"
        yield manifest.error(("spec", "maxHold"), value=shown(given), allowed=allowed)


def mode_of(manifest: Manifest) -> Mode | None:
    """Give a WorkerScale's mode, the default filled in; None where it is none."""
    given = at(manifest.tree, "spec", "mode")
    return Mode.HOLD if given is None else next((one for one in Mode if one == given), None)


def kind_of(manifest: Manifest) -> str:
    """Give the kind of a WorkerScale's target."""
    return str(at(manifest.tree, "spec", "target", "kind"))


def _given(value: Tree) -> str:
    return "" if value is None else shown(value)


def _modes(manifest: Manifest) -> frozenset[Mode]:
    known = KINDS.get(kind_of(manifest))
    return frozenset() if known is None else known.modes
