"""The demo's steps; each one acts, and then waits for the cluster itself to show the effect."""

from collections.abc import Mapping
from typing import Final, TextIO

from scaler.core.model import Kind, Name
from scaler.sim.cluster import Cluster
from scaler.sim.inference_act import InferenceAct
from scaler.sim.nodes import GPU
from scaler.sim.ray_act import RayAct
from scaler.sim.scenario import (
    LLM,
    POOL,
    POOL_SCALER,
    SPEECH,
    VISION,
)
from scaler.sim.scenario_ray import RAY_POOL, SIM_WORKERS
from scaler.sim.story import Story
from scaler.sim.timeline import Timeline, ready, wait
from scaler.sim.witness import Witness

MINUTE: Final = 60.0
PRETRAIN, ASR, TTS = (VISION, "pretrain"), (SPEECH, "asr"), (SPEECH, "tts")
PODS: Final[Mapping[Name, int]] = {PRETRAIN: 3, ASR: 1, TTS: 1}
GPUS: Final[Mapping[Name, int]] = {PRETRAIN: 5, ASR: 8, TTS: 8}
LASTS: Final[Mapping[Name, float]] = {
    PRETRAIN: 10 * MINUTE,
    ASR: 7 * MINUTE,
    TTS: 5 * MINUTE,
}
FOR_PRETRAIN: Final = 3
"""Nodes that pretrain needs: 5 GPUs leave no room for another 5 on a node of 8."""
FOR_ALL: Final = FOR_PRETRAIN + 1


class Demo:
    """Play the steps against a running cluster and a running service."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        status_url: str,
        scaler_address: str,
        out: TextIO,
        colored: bool = False,
        width: int | None = None,
    ) -> None:
        self._cluster = cluster
        self._status_url = status_url
        clock = cluster.clock
        self._timeline = Timeline(
            out=out, clock=clock, start=clock.now(), colored=colored, width=width
        )
        self._story = Story(
            cluster=cluster,
            timeline=self._timeline,
            status_url=status_url,
            pools=(POOL, RAY_POOL),
            targets=((Kind.DEPLOYMENTS, LLM), (Kind.WORKER_SCALES, SIM_WORKERS)),
        )
        self._witness = Witness(cluster=cluster, story=self._story, timeline=self._timeline)
        self._inference = InferenceAct(
            cluster=cluster, timeline=self._timeline, witness=self._witness
        )
        self._ray = RayAct(
            cluster=cluster,
            story=self._story,
            timeline=self._timeline,
            witness=self._witness,
            scaler_address=scaler_address,
        )

    def play(self) -> None:
        """Play all steps.

        Raises:
            StepFailedError: a step did not happen, or a promise was broken meanwhile.
        """
        self._service_comes_up()
        self._pool_grows_by_whole_pods()
        self._pool_grows_for_the_second_team()
        self._jobs_run()
        self._quota_forbids_growth()
        self._inference.play()
        self._nothing_was_lost()
        self._ray.play()

    def linger(self) -> None:
        """Go on telling what happens until the clock is stopped."""
        wait(self._cluster.clock, lambda: False, within=float("inf"), look=self._story.look)

    # --- the node pool -------------------------------------------------------------------------

    def _service_comes_up(self) -> None:
        self._timeline.title("The service starts. The pool has no nodes; the llm is at work.")
        both = {POOL_SCALER, LLM}
        self._witness.expect(
            "the service is ready",
            lambda: ready(self._status_url) and both <= self._story.decisions.keys(),
            within=20 * MINUTE,
            expected="/readyz says 200, and /decisions shows both ScaledObjects",
            seen=lambda: f"decisions for {sorted(self._story.decisions)}",
        )

    def _pool_grows_by_whole_pods(self) -> None:
        self._timeline.title(
            "team-vision submits 3 pods of 5 GPUs. By their sum, 15 GPUs, two nodes of 8 would do;"
            "\nbut no two of these pods fit one node, so it takes three."
        )
        self._submit(PRETRAIN)
        self._expect_pool(FOR_PRETRAIN)

    def _pool_grows_for_the_second_team(self) -> None:
        self._timeline.title("team-speech, with a quota of 8 GPUs, submits a pod of 8: one node.")
        self._submit(ASR)
        self._expect_pool(FOR_ALL)

    def _jobs_run(self) -> None:
        self._witness.expect(
            "the jobs run",
            lambda: all(self._witness.running(job) == PODS[job] for job in (PRETRAIN, ASR)),
            within=10 * MINUTE,
            expected="all pods of pretrain and asr are Running",
            seen=lambda: {job: self._witness.running(job) for job in (PRETRAIN, ASR)},
        )
        used = {pod["spec"]["nodeName"] for pod in self._cluster.pods(*PRETRAIN)}
        self._witness.check(
            "pretrain needed three nodes",
            happened=len(used) == FOR_PRETRAIN,
            expected="each pod on a node of its own",
            seen=sorted(used),
        )

    def _quota_forbids_growth(self) -> None:
        self._timeline.title("team-speech submits 8 GPUs more, beyond its quota: no node helps.")
        self._submit(TTS)
        self._witness.expect(
            "tts waits for quota",
            lambda: self._witness.waits_for(TTS) == "WaitingForQuota",
            within=3 * MINUTE,
            expected="QuotaReserved=False, reason WaitingForQuota",
            seen=lambda: self._witness.waits_for(TTS),
        )
        self._witness.hold_still(
            "the pool does not grow for it",
            lambda: self._cluster.pool_size(POOL) == FOR_ALL,
            seconds=1.5 * MINUTE,
            expected=f"{FOR_ALL} nodes wanted",
            seen=self._pool_seen,
        )

    # --- the end -------------------------------------------------------------------------------

    def _nothing_was_lost(self) -> None:
        self._timeline.title("What became of the jobs.")
        self._witness.expect(
            "all jobs finish",
            lambda: all(self._witness.finished(job) for job in PODS),
            within=15 * MINUTE,
            expected="pretrain and asr are Finished, and tts after them on asr's node",
            seen=lambda: {job: self._witness.finished(job) for job in PODS},
        )
        self._witness.check(
            "nothing shrank",
            happened=self._cluster.pool_size(POOL) == len(self._cluster.nodes(POOL)) == FOR_ALL,
            expected=f"{FOR_ALL} nodes wanted and there",
            seen=self._pool_seen(),
        )

    def _submit(self, job: Name) -> None:
        team, name = job
        requests = {"cpu": "16", GPU: str(GPUS[job])}
        self._cluster.submit(job, pods=PODS[job], requests=requests, duration=LASTS[job])
        self._timeline.say(team, f"submits {name}: {PODS[job]} x {GPUS[job]} GPUs")

    def _expect_pool(self, size: int) -> None:
        self._witness.expect(
            f"the pool grows to {size}",
            lambda: self._cluster.pool_size(POOL) == size,
            within=5 * MINUTE,
            expected=f"MachineSet {POOL} is scaled to {size}",
            seen=self._pool_seen,
        )
        self._witness.hold_still(
            f"{size} are enough",
            lambda: self._cluster.pool_size(POOL) == size,
            seconds=0.75 * MINUTE,
            expected=f"{size} nodes wanted, and no more",
            seen=self._pool_seen,
        )

    def _pool_seen(self) -> str:
        there = len(self._cluster.nodes(POOL))
        said = self._witness.said(POOL_SCALER)
        return f"{self._cluster.pool_size(POOL)} wanted, {there} there; {said}, {said.reason}"
