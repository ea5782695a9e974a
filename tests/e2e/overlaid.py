"""A component of deploy/ laid over the base's Deployment, and the Secrets that it mounts."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import yaml

from tests.e2e.api import Object
from tests.e2e.deployed import DEPLOY

PATCH = "deployment-patch.yaml"


def overlaid(objects: Sequence[Object], component: str) -> tuple[Object, ...]:
    """Give the objects with a component's patch on the Deployment, by add and replace alone."""
    text = (DEPLOY / "components" / component / PATCH).read_text(encoding="utf-8")
    changed = deepcopy(tuple(objects))
    for each in changed:
        if each["kind"] == "Deployment":
            for step in yaml.safe_load(text):
                _take(each, step)
    return changed


def secrets(deployment: Object) -> dict[str, str]:
    """Give the names of the mounted Secrets by the folder that each is mounted at."""
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    named = {
        each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each
    }
    mounts = container["volumeMounts"]
    return {each["mountPath"]: named[each["name"]] for each in mounts if each["name"] in named}


def _take(target: Any, step: Object) -> None:  # noqa: ANN401 - any part of an object
    *way, last = [part.replace("~1", "/") for part in step["path"].split("/")[1:]]
    for part in way:
        target = target[int(part)] if isinstance(target, list) else target[part]
    assert step["op"] in {"add", "replace"}, step
    if last == "-":
        target.append(step["value"])
    else:
        target[last] = step["value"]
