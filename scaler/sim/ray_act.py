"""The demo's act about a RayCluster: its workers to zero while its Workload stays, and back."""

from collections.abc import Mapping
from typing import Final

from scaler.core.model import Kind, Name
from scaler.sim.claim import Claim, claim_of
from scaler.sim.cluster import Cluster
from scaler.sim.kinds import PYTORCH_JOBS
from scaler.sim.nodes import GPU
from scaler.sim.patches import Document
from scaler.sim.scenario_ray import (
    RAY_COOLDOWN,
    RAY_IDLE_AFTER,
    RAY_POOL,
    SIM,
    SIM_WORKERS,
    TUNE,
    TUNE_WORKERS,
    VIDEO,
    WORKERS,
    furnish_ray,
    furnish_tune,
)
from scaler.sim.story import Story, workers
from scaler.sim.timeline import Timeline
from scaler.sim.witness import Witness

MINUTE: Final = 60.0
RENDER: Final[Name] = (VIDEO, "render")
RENDER_LASTS: Final = 60 * MINUTE


class RayAct:
    """Play the steps about a RayCluster's workers."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        story: Story,
        timeline: Timeline,
        witness: Witness,
        scaler_address: str,
    ) -> None:
        self._cluster = cluster
        self._story = story
        self._timeline = timeline
        self._witness = witness
        self._scaler_address = scaler_address

    def play(self) -> None:
        """Play all steps.

        Raises:
            StepFailedError: a step did not happen, or a promise was broken meanwhile.
        """
        self._cluster_runs()
        before = claim_of(self._witness.workload(SIM))
        self._timeline.say("kueue", f"before: {before}")
        node = self._workers_go()
        self._is_kept(before, "during")
        self._node_takes_another_job(node)
        self._workers_come_back(node)
        self._is_kept(before, "after")
        self._pytorch_job_is_refused()

    def _cluster_runs(self) -> None:
        self._timeline.title(
            "team-robots has a RayCluster: a head, and two workers of 4 GPUs on the only h100"
            "\nnode. A RayCluster has no /scale, so KEDA is given a WorkerScale that stands for it."
        )
        furnish_ray(self._cluster, scaler_address=self._scaler_address)
        self._timeline.say(SIM[0], "submits RayCluster sim and WorkerScale sim-workers")
        self._witness.expect(
            "the RayCluster runs",
            lambda: self._running() == WORKERS and self._witness.running(SIM) == WORKERS + 1,
            within=15 * MINUTE,
            expected="a head and two workers Running",
            seen=self._seen,
        )
        self._witness.expect(
            "the WorkerScale has the workers' present size",
            lambda: self._replicas() == WORKERS and self._status().get("size") == WORKERS,
            within=10 * MINUTE,
            expected=f"replicas and status.size {WORKERS}",
            seen=self._seen,
        )

    def _workers_go(self) -> str:
        """Give the node that the workers leave."""
        self._timeline.title(
            "The RayCluster falls idle. KEDA asks for zero; the actuator takes the workers, as they"
            "\nare idle by its own decision too. Head, Workload and quota stay."
        )
        node = str(workers(self._cluster, SIM)[0]["spec"]["nodeName"])
        self._cluster.set_load(SIM, percent=0)
        self._timeline.say(SIM[0], "the last Ray task ends")
        self._witness.expect(
            "KEDA asks for zero",
            lambda: self._replicas() == 0,
            within=RAY_IDLE_AFTER + RAY_COOLDOWN + 15 * MINUTE,
            expected="spec.replicas 0 of the WorkerScale",
            seen=self._seen,
        )
        self._witness.expect(
            "the workers are held",
            lambda: self._state() == "Held" and not workers(self._cluster, SIM),
            within=10 * MINUTE,
            expected="state Held, and no worker pod",
            seen=self._seen,
        )
        self._witness.check(
            "the head still runs",
            happened=self._witness.running(SIM) == 1,
            expected="the head pod Running",
            seen=self._seen(),
        )
        return node

    def _node_takes_another_job(self, node: str) -> None:
        self._timeline.title("team-video submits 8 GPUs: they go to the node that was freed.")
        requests = {"cpu": "16", GPU: "8"}
        self._cluster.submit(RENDER, pods=1, requests=requests, duration=RENDER_LASTS)
        self._timeline.say(VIDEO, "submits render: 1 x 8 GPUs")
        self._witness.expect(
            "render runs on the freed node",
            lambda: self._nodes_of(self._cluster.pods(*RENDER)) == {node},
            within=10 * MINUTE,
            expected=f"its pod Running on {node}",
            seen=lambda: self._nodes_of(self._cluster.pods(*RENDER)),
        )
        self._witness.hold_still(
            "held pods are no demand, and the hold lasts",
            lambda: self._cluster.pool_size(RAY_POOL) == 1 and self._state() == "Held",
            seconds=MINUTE,
            expected="1 node wanted, and the workers held",
            seen=self._seen,
        )

    def _workers_come_back(self, node: str) -> None:
        self._timeline.title(
            "A Ray task comes in. The quota was never given away, so nothing queues; only a node"
            "\nis missing, and the pool grows by one."
        )
        self._cluster.send_tasks(SIM, 1)
        self._timeline.say(SIM[0], "1 Ray task waits for a worker")
        self._witness.expect(
            "the pool grows for the workers",
            lambda: self._cluster.pool_size(RAY_POOL) == 1 + 1,
            within=15 * MINUTE,
            expected=f"MachineSet {RAY_POOL} is scaled to 2",
            seen=self._seen,
        )
        self._witness.expect(
            "the workers are back, on a new node",
            lambda: (
                self._running() == WORKERS
                and node not in self._nodes_of(workers(self._cluster, SIM))
            ),
            within=20 * MINUTE,
            expected="two workers Running on the node that was added",
            seen=self._seen,
        )
        self._cluster.set_load(SIM, percent=68)
        self._cluster.send_tasks(SIM, 0)
        self._timeline.say(SIM[0], "the Ray task runs")
        self._witness.expect(
            "the WorkerScale is at rest",
            lambda: self._state() == "Running" and "hold" not in self._status(),
            within=10 * MINUTE,
            expected="state Running, and nothing held",
            seen=self._seen,
        )

    def _pytorch_job_is_refused(self) -> None:
        self._timeline.title(
            "team-video wants the same for a PyTorchJob. Kueue would delete its Workload, so it is"
            "\nrefused, and nothing is written to it."
        )
        furnish_tune(self._cluster)
        self._timeline.say(VIDEO, "submits PyTorchJob tune and WorkerScale tune-workers")
        version = self._version_of_tune()
        self._witness.expect(
            "the PyTorchJob is refused with a reason",
            lambda: self._state(TUNE_WORKERS) == "Refused",
            within=10 * MINUTE,
            expected="state Refused",
            seen=lambda: self._status(TUNE_WORKERS),
        )
        reason = self._status(TUNE_WORKERS).get("reason")
        self._witness.check(
            "the reason names the way out, and the PyTorchJob is as it was",
            happened=reason == "KindNotHoldable" and self._version_of_tune() == version,
            expected=f"reason KindNotHoldable, and PyTorchJob {TUNE[1]} unchanged",
            seen=self._status(TUNE_WORKERS),
        )

    # --- what is seen --------------------------------------------------------------------------

    def _is_kept(self, before: Claim, when: str) -> None:
        now = claim_of(self._witness.workload(SIM))
        self._timeline.say("kueue", f"{when}: {now}")
        self._witness.check(
            "same Workload, same admission, same quota",
            happened=now == before,
            expected=str(before),
            seen=now,
        )

    def _running(self) -> int:
        pods = workers(self._cluster, SIM)
        return sum(pod["status"]["phase"] == "Running" for pod in pods)

    def _nodes_of(self, pods: list[Document]) -> set[str]:
        return {p["spec"].get("nodeName", "") for p in pods if p["status"]["phase"] == "Running"}

    def _scale(self, name: Name) -> Document:
        return self._cluster.objects.get(Kind.WORKER_SCALES, name) or {"spec": {}}

    def _replicas(self) -> int | None:
        replicas: int | None = self._scale(SIM_WORKERS)["spec"].get("replicas")
        return replicas

    def _status(self, name: Name = SIM_WORKERS) -> Mapping[str, object]:
        status: Mapping[str, object] = self._scale(name).get("status", {})
        return status

    def _state(self, name: Name = SIM_WORKERS) -> object:
        return self._status(name).get("state")

    def _version_of_tune(self) -> str:
        document = self._cluster.objects.get(PYTORCH_JOBS, TUNE) or {}
        return str(document.get("metadata", {}).get("resourceVersion"))

    def _seen(self) -> str:
        said, status = self._witness.said(SIM_WORKERS), self._status()
        workers_now = f"{self._running()} workers Running, replicas {self._replicas()}"
        state = f"{status.get('state')}, {status.get('reason')}: {status.get('message')}"
        nodes = f"{self._cluster.pool_size(RAY_POOL)} nodes wanted"
        return f"{workers_now}; {nodes}; {state}; {said}, {said.reason}: {said.detail}"
