"""What inference servers and the gateway before them count, in Prometheus' text format."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.e2e.dcgm import family

VLLM = ("app.kubernetes.io/component", "vllm")
"""The label of the pods that are vLLM servers."""
MODEL_NAME = "e2e/model"


@dataclass(slots=True)
class Traffic:
    """Requests by namespace."""

    running: Counter[str] = field(default_factory=Counter)
    """In work."""
    waiting: Counter[str] = field(default_factory=Counter)
    """In the servers' queues."""
    arrived: Counter[str] = field(default_factory=Counter)
    """That ever came to the gateway; only a namespace that is named here has its counter."""
    tasks: Counter[str] = field(default_factory=Counter)
    """Ray's tasks that wait for workers; only a namespace that is named here has a Ray head."""

    def exposition(self, pods: Sequence[tuple[str, str]]) -> str:
        """Write vLLM's gauges of (namespace, pod) that run, and Istio's counter besides.

        A namespace's requests are spread over its pods; without one nobody tells of them, but the
        gateway.
        """
        gateway = (
            ({"destination_service_namespace": namespace}, str(count))
            for namespace, count in self.arrived.items()
        )
        tasks = (
            ({"namespace": namespace, "State": "PENDING_NODE_ASSIGNMENT"}, str(count))
            for namespace, count in self.tasks.items()
        )
        return (
            family("vllm:num_requests_running", "gauge", "In work.", _spread(pods, self.running))
            + family("vllm:num_requests_waiting", "gauge", "Waiting.", _spread(pods, self.waiting))
            + family("istio_requests_total", "counter", "Requests.", gateway)
            + family("ray_tasks", "gauge", "Tasks.", tasks)
        )


def _spread(
    pods: Sequence[tuple[str, str]], requests: Mapping[str, int]
) -> Iterator[tuple[dict[str, str], str]]:
    for namespace in dict.fromkeys(namespace for namespace, _ in pods):
        names = [name for where, name in pods if where == namespace]
        each, more = divmod(requests.get(namespace, 0), len(names))
        for place, name in enumerate(names):
            labels = {"namespace": namespace, "pod": name, "model_name": MODEL_NAME}
            yield labels, str(each + (place < more))
