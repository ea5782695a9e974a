"""Watch the embedded cluster and the service, tell each change, and stop at a broken promise."""

import re
from collections.abc import Mapping, Sequence

from scaler.core.model import Kind, Name
from scaler.sim.cluster import Cluster
from scaler.sim.conditions import condition_of, is_true
from scaler.sim.kinds import EVENTS, MACHINE_SETS
from scaler.sim.kuberay import NODE_TYPE
from scaler.sim.nodes import GPU, NAMESPACE
from scaler.sim.objects import name_of
from scaler.sim.patches import Document
from scaler.sim.pods import finished
from scaler.sim.timeline import Said, StepFailedError, Timeline, decisions

POD_SET = re.compile(r"^couldn't assign flavors to pod set [^:]+: ")


def workers(cluster: Cluster, name: Name) -> list[Document]:
    """Give a RayCluster's worker pods, without its head."""
    pods = cluster.pods(*name)
    return [pod for pod in pods if pod["metadata"]["labels"].get(NODE_TYPE) == "worker"]


class Story:
    """Tell what changed since the last look.

    Two promises are held to at every look: no pool's wanted size falls, and no pod of a Job
    disappears before it has finished.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        timeline: Timeline,
        status_url: str,
        pools: Sequence[str],
        targets: Sequence[tuple[str, Name]],
    ) -> None:
        self.decisions: Mapping[Name, Said] = {}
        self._cluster = cluster
        self._timeline = timeline
        self._status_url = status_url
        self._pools = tuple(pools)
        self._targets = tuple(targets)
        """Plural and name of what KEDA scales besides the pools."""
        self._told: dict[tuple[str, str], str] = {}
        self._messages: set[str] = set()
        """Told already: an Event that says the same is told without them."""
        self._sizes = dict.fromkeys(pools, 0)
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
        for pool in self._pools:
            self._tell_nodes(pool)
        self._tell_sizes()
        self._tell_decisions()
        for cluster in self._cluster.objects.all(Kind.RAY_CLUSTERS):
            self._tell_workers(cluster)
        for scale in self._cluster.objects.all(Kind.WORKER_SCALES):
            self._tell_scale(scale)
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
            message = POD_SET.sub("", condition.get("message", ""))
            message = message.partition(". Total nodes")[0]
            why = f"{condition.get('reason', 'not evaluated yet')}: {message}"
            text = f"waits, {why.removesuffix(': ')}"
        name = f"{workload['metadata']['namespace']}/{job}"
        self._tell("kueue", name, f"{name} {text}")

    def _tell_nodes(self, pool: str) -> None:
        nodes = self._cluster.nodes(pool)
        with_gpus = sum(GPU in node["status"]["allocatable"] for node in nodes)
        text = f"{pool}: {len(nodes)} Ready, {with_gpus} with GPUs"
        self._tell("nodes", pool, text, at_first=bool(nodes) and pool == self._pools[0])

    def _tell_sizes(self) -> None:
        sets = [(MACHINE_SETS, (NAMESPACE, pool)) for pool in self._pools]
        for plural, target in (*sets, *self._targets):
            document = self._cluster.objects.get(plural, target)
            if document is not None:
                text = f"{document['kind']} {target[1]} is scaled to {document['spec']['replicas']}"
                who = "scale" if plural == Kind.WORKER_SCALES else "keda"
                self._tell(who, f"{plural} {target}", text, at_first=False)

    def _tell_workers(self, cluster: Document) -> None:
        namespace, name = name_of(cluster)
        phases = [pod["status"]["phase"] for pod in workers(self._cluster, (namespace, name))]
        runs = phases.count("Running")
        waits = f", {len(phases) - runs} Pending" if len(phases) > runs else ""
        self._tell("kuberay", name, f"{namespace}/{name}: {runs} workers Running{waits}")

    def _tell_scale(self, scale: Document) -> None:
        status, (namespace, name) = scale.get("status", {}), name_of(scale)
        headline = f"{namespace}/{name}: {status.get('state')}, {status.get('reason')}"
        if status.get("state") and self._told.get(("actuator", name)) != headline:
            self._told["actuator", name] = headline
            self._timeline.say("actuator", f"{headline}: {status.get('message')}")
            self._messages.add(str(status.get("message")))

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
            said = f"{event['reason']}: {event['message']}"
            if self._told.get(("event", event["metadata"]["name"])) == said:
                continue
            self._told["event", event["metadata"]["name"]] = said
            known = event["message"] in self._messages
            self._messages.add(event["message"])
            what = "" if known else f": {event['message']}"
            self._timeline.say("event", f"{event['reason']} on {name}{what}")

    def _hold_to_promises(self) -> None:
        for pool, before in self._sizes.items():
            size = self._cluster.pool_size(pool)
            if size < before:
                raise StepFailedError(
                    step="nothing shrinks",
                    expected=f"MachineSet {pool} stays at {before} or more",
                    seen=f"{size}",
                )
            self._sizes[pool] = size
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
