"""Jobs: pods while not suspended, Complete when all of them succeeded."""

from scaler.core.model import Kind
from scaler.sim.clock import Clock
from scaler.sim.conditions import is_true, set_condition
from scaler.sim.integrations import QUEUE
from scaler.sim.objects import Objects, name_of
from scaler.sim.patches import Document
from scaler.sim.pods import finished, owned, owner_reference, pod_template

INDEX = "batch.kubernetes.io/job-completion-index"


def job(
    *,
    namespace: str,
    name: str,
    queue: str,
    pods: int,
    requests: dict[str, str],
    duration: float,
    priority: int = 0,
) -> Document:
    """Write a suspended Job for a LocalQueue."""
    template = pod_template(requests=requests, duration=duration)
    template["spec"]["restartPolicy"] = "Never"
    template["spec"]["priority"] = priority
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE: queue}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": template,
        },
    }


class Jobs:
    """Bring the pods of every Job to its parallelism, as long as they have not succeeded."""

    def __init__(self, *, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    def step(self) -> None:
        """Create missing pods, delete those of suspended Jobs, complete Jobs."""
        pods = self._objects.all(Kind.PODS)
        for document in self._objects.all(Kind.JOBS):
            if is_true(document, "Complete"):
                continue
            mine = owned(pods, document["metadata"]["uid"])
            if document["spec"]["suspend"]:
                for pod in mine:
                    self._objects.delete(Kind.PODS, name_of(pod))
            else:
                self._run(document, mine)

    def _run(self, document: Document, pods: list[Document]) -> None:
        wanted = document["spec"]["completions"]
        taken = {pod["metadata"]["labels"][INDEX] for pod in pods}
        for index in (str(i) for i in range(wanted)):
            if index not in taken:
                self._objects.create(Kind.PODS, self._pod(document, index))
        succeeded = sum(finished(pod) for pod in pods)

        def write(after: Document) -> None:
            after.setdefault("status", {}).update(active=wanted - succeeded, succeeded=succeeded)
            if succeeded == wanted:
                set_condition(
                    after,
                    "Complete",
                    status=True,
                    reason="CompletionsReached",
                    message="Reached expected number of succeeded pods",
                    now=self._clock.now(),
                )

        self._objects.modify(Kind.JOBS, name_of(document), write)

    def _pod(self, document: Document, index: str) -> Document:
        template, metadata = document["spec"]["template"], document["metadata"]
        labels = template["metadata"].get("labels", {})
        return {
            "metadata": {
                **template["metadata"],
                "name": f"{metadata['name']}-{index}-{metadata['uid'][:5]}",
                "namespace": metadata["namespace"],
                "labels": labels | {INDEX: index, "batch.kubernetes.io/job-name": metadata["name"]},
                "ownerReferences": [owner_reference(document)],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
