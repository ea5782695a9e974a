"""`kubectl gpu-scaler explain` says what would have to change; it is changed, and comes true."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.policies import GPUS, IDLE_AFTER
from tests.e2e.scenarios.crews import Crew
from tests.e2e.scenarios.places import place
from tests.e2e.scenarios.queued import crew
from tests.e2e.scenarios.rooms import LOOK, SOON, Room, patient, room
from tests.e2e.waiting import until
from tests.e2e.world import Scenario, World
from tests.plugin import ROOT, write_plugin

POOLS = (patient("x1"),)
QUOTA, WHOLE = 14, 8
"""GPUs: one Job of a whole node has quota, for the second two lack."""
PODS, EACH = 2, 4
EARLY = 1.5
"""Seconds; when a sample was taken is known to a scrape's length."""


SETTLED = 3.0
"""Seconds after which the last busy sample has been scraped."""
DECIDED = (0, 3)
"""Exit codes: a decision came out, or a hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The real kubectl, with our plugin on its PATH."""

    world: World
    kubectl: str
    folder: Path
    policy: Path

    @classmethod
    def of(cls, world: World) -> "Plugin":
        """Write the plugin and the policy into the run's folder."""
        kubectl = shutil.which("kubectl")
        assert kubectl is not None, "kubectl is needed to play this"
        folder = Path(world.stack.folder) / "plugin"
        write_plugin(folder)
        policy = folder / "policy.yaml"
        policy.write_text(world.scaler.policy, encoding="utf-8")
        return cls(world=world, kubectl=kubectl, folder=folder, policy=policy)

    def explain(self, *what: str, actuator: bool = False) -> Object:
        """Ask as the account of `serve`, or of `actuate`, which reads more."""
        one = self.world.actuator if actuator else self.world.scaler
        config = one.kubeconfig_for(one.user).resolve()
        options = ("--policy", str(self.policy.resolve()), "-o", "json")
        ended = subprocess.run(
            [self.kubectl, "gpu-scaler", "explain", *what, *options],
            env={
                **os.environ,
                "PATH": f"{self.folder.resolve()}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "KUBECONFIG": str(config),
            },
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
        )
        assert ended.returncode in DECIDED, f"{what}: {ended.returncode} {ended.stderr}"
        shown: Object = json.loads(ended.stdout)
        return shown


def x1(world: World) -> str:
    """All four forms name a change; each is made, and the answer is the one that was told."""
    plugin = Plugin.of(world)
    return f"{_quota(world, plugin)}; {_rest(world, plugin)}"


def _quota(world: World, plugin: Plugin) -> str:
    """Add the quota that is told: one GPU less changes nothing, all of it brings the node."""
    with room(world, "x1", queues={"jobs": QUOTA}) as made:
        queue = f"{made.name}-jobs"
        made.job("first", gpus=WHOLE)
        made.grows_to(1)
        made.runs(1)
        made.job("second", gpus=WHOLE)
        change = _told(plugin, made, queue)
        more = change["more"][GPUS]
        then = change["then"]["value"]
        assert (more, then) == (2, 2), change
        _set_quota(world, queue, QUOTA + more - 1)
        assert _told(plugin, made, queue)["more"] == {GPUS: 1}
        made.stays(1)
        began = time.monotonic()
        _set_quota(world, queue, QUOTA + more)
        grown = made.grows_to(then)
        made.runs(2)
        made.stays(then)
        return (
            f"{change['text']!r}: 1 GPU less of it changes nothing, all of it brings node {then} "
            f"after {grown - began:.1f} s"
        )


def _told(plugin: Plugin, made: Room, queue: str) -> Object:
    """Ask all three forms that know of it until the first tells; the others tell the same."""

    def quota() -> Object | None:
        shown = plugin.explain(f"scaledobject/{made.name}", "-n", made.name)
        return next((each for each in shown["changes"] if each["lever"] == "Quota"), None)

    change = until(quota, "a change of quota", within=SOON, every=LOOK)
    account = plugin.explain(f"clusterqueue/{queue}")
    (waits,) = [each for each in account["waiting"] if each.get("changes")]
    assert waits["changes"][0]["more"] == change["more"], account
    namespace, name = waits["workload"].split("/")
    workload = plugin.explain(f"workload/{name}", "-n", namespace)
    assert workload["changes"][0]["more"] == change["more"], workload
    (counting,) = workload["counting"]
    assert not counting["counts"], counting
    return change


def _set_quota(world: World, queue: str, gpus: int) -> None:
    found = world.api.get("ClusterQueue", queue)
    assert found is not None
    groups = found["spec"]["resourceGroups"]
    for each in groups[0]["flavors"][0]["resources"]:
        if each["name"] == GPUS:
            each["nominalQuota"] = gpus
    world.api.patch("ClusterQueue", queue, change={"spec": {"resourceGroups": groups}})


def _rest(world: World, plugin: Plugin) -> str:
    """Let the GPUs rest: the verdict turns at the time of day that is told, no sooner."""
    with (
        place(world, "x1-rest", gpus=PODS * EACH) as there,
        crew(world, "JobSet", namespace=there.name, pods=PODS, gpus=EACH) as c,
    ):
        c.handle()
        c.sized()
        what = (f"workerscale/{c.name}", "-n", c.namespace)
        busy = _decision(plugin, what, "Busy")
        assert busy["changes"][0]["text"].startswith("idle at "), busy
        world.gpus.quiet(c.namespace)
        told = _settled(plugin, what)
        _decision(plugin, what, "Idle")
        late = time.time() - told
        assert late >= -EARLY, f"idle {-late:.1f} s before it was told to be"
        name = c.workload()["metadata"]["name"]
        gpus = _gpus(plugin, c, name)
        return f"idle {late:.1f} s after the time that was told; {gpus} GPUs of its Workload rest"


def _settled(plugin: Plugin, what: tuple[str, ...]) -> float:
    """Give the time that is told once the last busy sample is known: it moves no more."""

    def look() -> float | None:
        at = _at(plugin.explain(*what, actuator=True))
        return at if at is not None and at - time.time() < IDLE_AFTER - SETTLED else None

    return until(look, "a time that stands", within=SOON, every=LOOK)


def _at(shown: Object) -> float | None:
    (decision,) = shown["decisions"]
    at = decision["changes"][0].get("at")
    return None if at is None else datetime.fromisoformat(at).timestamp()


def _decision(plugin: Plugin, what: tuple[str, ...], reason: str) -> Object:
    def look() -> Object | None:
        (decision,) = plugin.explain(*what, actuator=True)["decisions"]
        return decision if decision["reason"] == reason else None

    return until(look, f"{what[0]} is {reason}", within=SOON, every=LOOK)


def _gpus(plugin: Plugin, c: Crew, workload: str) -> int:
    """Count the GPUs whose readings the account of the Workload has."""
    shown = plugin.explain(f"workload/{workload}", "-n", c.namespace)
    (judged, *_) = shown["idle"]
    devices = judged["evidence"]["idle"]["devices"]
    assert len(devices) == PODS * EACH, shown
    assert all(each["peakPercent"] < 1 for each in devices), devices
    return len(devices)


SCENARIOS = (
    Scenario(id="X1", title="explain names the change, which is made and comes true", play=x1),
)
