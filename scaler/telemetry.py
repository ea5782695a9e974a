"""Count what happens, for /metrics; what merely is, `status` reads from the store."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily

PREFIX = "kueue_gpu_scaler"


def gauge(name: str, text: str, labels: Iterable[str] = ()) -> GaugeMetricFamily:
    """Begin a family of gauges that is made anew at each scrape."""
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=tuple(labels))


class Telemetry:
    """Hold this process's counters; prometheus_client locks each of them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.answers = self._counter(
            "answers",
            "Answers given to KEDA by RPC and outcome (OK, HOLD, INVALID_ARGUMENT).",
            "rpc",
            "outcome",
        )
        self.holds = self._counter(
            "hold_answers", "Answers to KEDA that were HOLD, by cause.", "reason"
        )
        self.changes = self._counter(
            "decision_changes", "Decisions that became another one, by new reason.", "reason"
        )
        self.would_have = self._counter(
            "dry_run_would_have_scaled_to_zero",
            "Times that a workload in a dry run became idle and would have gone.",
            "namespace",
            "scaled_object",
        )
        self.errors = self._counter("source_errors", "Errors of a source by kind.", "kind")
        self.skipped = self._counter(
            "skipped_objects", "Objects that could not be decoded, by kind.", "kind"
        )
        self.events_failed = self._counter("events_failed", "Events that could not be written.")
        self.policy_refused = self._counter(
            "policy_refused", "Policy files that were refused while the last good one stayed."
        )
        self.certificates_refused = self._counter(
            "certificates_refused",
            "Files of a port's certificates that were refused while the last good ones stayed.",
            "port",
        )
        self.streams = Gauge(
            "open_streams", "Open push streams.", namespace=PREFIX, registry=self.registry
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace=PREFIX, registry=self.registry)
