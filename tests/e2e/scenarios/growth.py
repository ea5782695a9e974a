"""Jobs queue, and the pool grows by exactly the nodes that they need."""

import math
import subprocess
import sys
import time
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.deployed import ROOT
from tests.e2e.policies import GPUS, NODE
from tests.e2e.queues import job, job_set, ray_cluster
from tests.e2e.scenarios.arrivals import Arrivals
from tests.e2e.scenarios.bounds import Pod, fewest_nodes
from tests.e2e.scenarios.rooms import GROWN, Room, patient, room
from tests.e2e.world import Scenario, World

POOLS = tuple(patient(name) for name in ("g1", "g2", "g3", "g9"))
WHOLE: Pod = (int(NODE[GPUS]), int(NODE["cpu"]))

JOBS = {
    "whole": (1, (8, 2)),
    "pair": (2, (4, 2)),
    "half-a": (1, (4, 2)),
    "half-b": (1, (4, 2)),
    "five-a": (1, (5, 2)),
    "five-b": (1, (5, 2)),
    "cpus-a": (1, (4, 95)),
    "cpus-b": (1, (4, 95)),
}
"""Pods of each Job: how many, and each one's GPUs and CPUs.

Halves go two to a node; none of the others may share one, be it for GPUs or for CPUs. So it takes
more nodes than the sum of GPUs says, and in whichever order Kueue admits them it takes the same.
"""
JOB_SET = (2, (5, 1))
RAY = (1, (5, 1))
RAY_HEAD: Pod = (0, 1)


def g1(world: World) -> str:
    """Ten jobs of mixed shapes fill an empty pool, which grows to the packed number."""
    pods = [shape for count, shape in (*JOBS.values(), JOB_SET, RAY) for _ in range(count)]
    pods.append(RAY_HEAD)
    bound = fewest_nodes(pods, node=WHOLE)
    by_gpus = math.ceil(sum(gpus for gpus, _ in pods) / WHOLE[0])
    assert by_gpus < bound, "the shapes would not tell packing from adding"
    with room(world, "g1", queues={"jobs": 200}) as made:
        assert not made.nodes()
        workloads = Arrivals(world, "Workload", made.name)
        workloads.start()
        began = time.monotonic()
        for each in _jobs(made):
            world.api.create(each)
        raised = made.sizes.until(made.name, 1, within=GROWN, since=began)
        assert not [each for each in world.api.list("Pod", made.name) if not _gated(each)]
        grown = made.grows_to(bound)
        made.runs(len(pods), within=GROWN)
        ran = time.monotonic()
        made.stays(bound)
        steps = made.sizes.steps(made.name)
        first = workloads.times()[0]
        return (
            f"MachineSet raised {raised - first:.1f} s after the first Workload, whole after"
            f" {grown - first:.1f} s by {steps}, all run after {ran - first:.1f} s;"
            f" {bound} nodes, lower bound {bound} (by GPUs alone {by_gpus})"
        )


def _gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def _jobs(made: Room) -> list[Object]:
    given: Object = {"namespace": made.name, "queue": "jobs"}
    jobs = [
        job(name, pods=count, gpus=gpus, cpu=str(cpus), **given)
        for name, (count, (gpus, cpus)) in JOBS.items()
    ]
    return [
        *jobs,
        job_set("job-set", pods=JOB_SET[0], gpus=JOB_SET[1][0], **given),
        ray_cluster("ray", workers=RAY[0], gpus=RAY[1][0], **given),
    ]


def g2(world: World) -> str:
    """Nodes come for the jobs that quota allows, and for no other."""
    with room(world, "g2", queues={"jobs": 40}) as made:
        began = time.monotonic()
        for number in range(4):
            made.job(f"job-{number}", pods=2)
        grown = made.grows_to(4)
        made.runs(4)
        made.stays(4)
        waiting = made.decision("QuotaExhausted")
        return (
            f"4 jobs of 16 GPUs, quota of 40: 4 nodes of 8 after {grown - began:.1f} s, 2 jobs wait"
            f" ({waiting['reason']})"
        )


def g3(world: World) -> str:
    """A pod that is larger than any node buys none, and explain says why."""
    with room(world, "g3", queues={"jobs": 200}) as made:
        made.job("gpus", gpus=16)
        made.job("cpus", gpus=1, cpu="97")
        made.decision("FitsNoNode")
        made.stays(0)
        assert made.sizes.steps(made.name) == [0]
        said = explain(made)
        assert "FitsNoNode" in said, said
        made.job("small", gpus=1)
        grown = made.grows_to(1)
        made.runs(1)
        made.stays(1, seconds=2)
        assert grown
        return f"16 GPUs and 97 CPUs a pod: no node; explain: {_line(said, 'fit')!r}"


def explain(made: Room) -> str:
    """Ask as the service's account, with the policy's text, what is decided and why."""
    scaler = made.world.scaler
    policy = Path(made.world.stack.folder) / f"{made.name}-policy.yaml"
    policy.write_text(scaler.policy, encoding="utf-8")
    who = ["--kubeconfig", str(scaler.kubeconfig_for(scaler.user).resolve())]
    command = [sys.executable, "-m", "scaler", "explain", f"{made.name}/{made.name}"]
    ended = subprocess.run(
        [*command, *who, "--policy", str(policy)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def _line(text: str, word: str) -> str:
    return next((each.strip() for each in text.splitlines() if word in each), "")


def g9(world: World) -> str:
    """Two ClusterQueues want the same quota of their cohort: nodes come for it once."""
    queues = {"red": 0, "blue": 0, "lender": 16}
    with room(world, "g9", queues=queues, scaled=("red", "blue"), cohort=True) as made:
        began = time.monotonic()
        made.job("red", pods=2, queue="red")
        made.job("blue", pods=2, queue="blue")
        grown = made.grows_to(2)
        pods = made.runs(2)
        made.stays(2)
        for pod in pods:
            made.end(pod)
        made.runs(2)
        made.stays(2)
        return (
            f"2 jobs of 16 GPUs, 16 to borrow: 2 nodes after {grown - began:.1f} s, for both jobs"
            " one after the other"
        )


SCENARIOS = (
    Scenario(id="G1", title="ten jobs grow an empty pool to the packed number", play=g1),
    Scenario(id="G2", title="quota for a part: nodes for that part", play=g2),
    Scenario(id="G3", title="a pod larger than any node: no node, explained", play=g3),
    Scenario(id="G9", title="two queues of a cohort, one quota: nodes once", play=g9),
)
