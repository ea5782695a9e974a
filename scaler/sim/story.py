"""Watch the embedded cluster and the service, tell each change, and stop at a broken promise."""

from collections.abc import Mapping

from scaler.core.model import Kind, Name
from scaler.sim.cluster import Cluster
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.kinds import EVENTS
from scaler.sim.nodes import GPU
from scaler.sim.objects import name_of
from scaler.sim.patches import Document
from scaler.sim.pods import finished
from scaler.sim.timeline import Said, StepFailedError, Timeline, decisions


class Story:
    """Tell what changed since the last look.

    Two promises are held to at every look: the pool's wanted size never falls, and no pod of a
    Job disappears before it has finished.
    """

    def __init__(
        self, *, cluster: Cluster, timeline: Timeline, status_url: str, pool: str, target: Name
    ) -> None:
        self.decisions: Mapping[Name, Said] = {}
        self._cluster = cluster
        self._timeline = timeline
        self._status_url = status_url
        self._pool = pool
        self._target = target
        self._told: dict[tuple[str, str], str] = {}
        self._size = 0
        self._unfinished: dict[str, Name] = {}

    def look(self) -> None:
        """Look at everything once.

        Raises:
            StepFailedError: a promise is broken, or the cluster's own thread ended.
        """
        if self._cluster.broken is not None:
            raise StepFailedError(
                step="the cluster runs",
                expected="no error in its controllers",
                seen=repr(self._cluster.broken),
            )
        for workload in self._cluster.objects.all(Kind.WORKLOADS):
            self._tell_workload(workload)
        self._tell_nodes()
        self._tell_sizes()
        self._tell_decisions()
        self._tell_events()
        self._hold_to_promises()

    def _tell(self, who: str, what: str, text: str, *, at_first: bool = True) -> None:
        before = self._told.get((who, what))
        self._told[who, what] = text
        if text != before and (before is not None or at_first):
            self._timeline.say(who, text)

    def _tell_workload(self, workload: Document) -> None:
        job = workload["metadata"]["ownerReferences"][0]["name"]
        if is_true(workload, "Finished"):
            text = "finished"
        elif is_true(workload, "Admitted"):
            text = "admitted"
        else:
            condition = condition_of(workload, "QuotaReserved")
            message = condition.get("message", "").rpartition("pod set main: ")[2]
            message = message.partition(". Total nodes")[0]
            text = f"waits, {condition.get('reason', 'not evaluated yet')}: {message}"
        name = f"{workload['metadata']['namespace']}/{job}"
        self._tell("kueue", name, f"{name} {text}")

    def _tell_nodes(self) -> None:
        nodes = self._cluster.nodes(self._pool)
        with_gpus = sum(GPU in node["status"]["allocatable"] for node in nodes)
        text = f"{self._pool}: {len(nodes)} Ready, {with_gpus} with GPUs"
        self._tell("nodes", self._pool, text, at_first=bool(nodes))

    def _tell_sizes(self) -> None:
        wanted = self._cluster.pool_size(self._pool)
        text = f"MachineSet {self._pool} is scaled to {wanted}"
        self._tell("keda", self._pool, text, at_first=False)
        replicas = self._cluster.replicas(Kind.DEPLOYMENTS, self._target)
        text = f"Deployment {self._target[1]} is scaled to {replicas}"
        self._tell("keda", "target", text, at_first=False)

    def _tell_decisions(self) -> None:
        self.decisions = decisions(self._status_url)
        for (namespace, name), said in sorted(self.decisions.items()):
            headline = f"{namespace}/{name}: {said}, {said.reason}"
            if self._told.get(("decision", name)) != headline:
                self._told["decision", name] = headline
                self._timeline.say("decision", f"{headline}: {said.detail}")

    def _tell_events(self) -> None:
        for event in self._cluster.objects.all(EVENTS):
            about = event["involvedObject"]
            name = f"{about['kind']} {about['namespace']}/{about['name']}"
            text = f"{event['reason']} on {name}: {event['message']}"
            self._tell("event", event["metadata"]["name"], text)

    def _hold_to_promises(self) -> None:
        size = self._cluster.pool_size(self._pool)
        if size < self._size:
            raise StepFailedError(
                step="nothing shrinks",
                expected=f"MachineSet {self._pool} stays at {self._size} or more",
                seen=f"{size}",
            )
        self._size = size
        there = {pod["metadata"]["uid"]: pod for pod in self._cluster.objects.all(Kind.PODS)}
        for uid, name in self._unfinished.items():
            if uid not in there:
                raise StepFailedError(
                    step="a running job is never the victim",
                    expected=f"pod {name[1]} runs until it has finished",
                    seen="the pod is gone",
                )
        self._unfinished = {
            uid: name_of(pod) for uid, pod in there.items() if _of_job(pod) and not finished(pod)
        }


def _of_job(pod: Document) -> bool:
    return "batch.kubernetes.io/job-name" in pod["metadata"].get("labels", {})
