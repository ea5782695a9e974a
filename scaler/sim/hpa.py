"""The HorizontalPodAutoscaler of one ScaledObject: AverageValue of external metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scaler.core.model import Instant
from scaler.sim.patches import Document
from scaler.sim.scaledobject import Spec

DEFAULT_TOLERANCE = 0.1
STABILIZATION = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric as the HPA read it; usage None = the read failed, or gave no value."""

    usage: float | None
    target: float


@dataclass(slots=True, kw_only=True)
class Autoscaler:
    """Compute sizes sync by sync; remembers what it recommended lately."""

    spec: Spec
    recommended: list[tuple[Instant, int]] = field(default_factory=list)

    def desired(
        self, metrics: Sequence[Metric], *, replicas: int, present: int, now: Instant
    ) -> int:
        """Give the size for a target of `replicas` (spec) of which `present` (status) are there."""
        lowest = max(1, self.spec.minimum)
        if replicas > self.spec.maximum or replicas < lowest:
            return min(max(replicas, lowest), self.spec.maximum)
        wanted = self._from_metrics(metrics, replicas=replicas, present=present)
        if wanted is None:
            return replicas
        wanted = self._stabilized(wanted, replicas, now)
        return self._limited(wanted, replicas, lowest)

    def _from_metrics(
        self, metrics: Sequence[Metric], *, replicas: int, present: int
    ) -> int | None:
        sizes = [self._size(metric, present) for metric in metrics]
        known = [size for size in sizes if size is not None]
        if not known:
            return None
        wanted = max(known)
        if len(known) < len(sizes) and wanted < replicas:
            return None  # a metric is missing: it might have asked for more
        return wanted

    def _size(self, metric: Metric, present: int) -> int | None:
        if metric.usage is None:
            return None
        ratio = metric.usage / (metric.target * present) if present else math.inf
        if 1 - self.tolerance("scaleDown") <= ratio <= 1 + self.tolerance("scaleUp"):
            return present
        return math.ceil(metric.usage / metric.target)

    def tolerance(self, direction: str) -> float:
        """Give the relative change that is ignored upwards (scaleUp) or downwards (scaleDown)."""
        written = self.spec.behavior.get(direction, {}).get("tolerance")
        return DEFAULT_TOLERANCE if written is None else float(written)

    def _stabilized(self, wanted: int, replicas: int, now: Instant) -> int:
        down = self.spec.behavior.get("scaleDown", {})
        window = down.get("stabilizationWindowSeconds", STABILIZATION)
        self.recommended = [(at, size) for at, size in self.recommended if at > now - window]
        highest = max([wanted, *(size for _, size in self.recommended)])
        self.recommended.append((now, wanted))
        return wanted if wanted > replicas else min(replicas, highest)

    def _limited(self, wanted: int, replicas: int, lowest: int) -> int:
        up, down = (self.spec.behavior.get(key, {}) for key in ("scaleUp", "scaleDown"))
        shut_in = down.get("selectPolicy") == "Disabled" or self.spec.scale_in_paused
        shut_out = up.get("selectPolicy") == "Disabled" or self.spec.scale_out_paused
        if (wanted < replicas and shut_in) or (wanted > replicas and shut_out):
            return replicas
        fastest = max(2 * replicas, replicas + 4 if up else 4)
        return max(lowest, min(wanted, fastest, self.spec.maximum))


def hpa_name(spec: Spec) -> str:
    """Give the name that KEDA gives the HPA."""
    return f"keda-hpa-{spec.name[1]}"


def hpa_document(
    spec: Spec,
    *,
    owner: Document,
    api_version: str,
    metrics: Sequence[tuple[str, float]],
    keeps_tolerance: bool,
) -> Document:
    """Write the HPA as KEDA labels it, controlled by its ScaledObject, `owner`.

    Where the cluster is too old for it the field `tolerance` is dropped.
    """
    behavior = {
        direction: {k: v for k, v in rules.items() if keeps_tolerance or k != "tolerance"}
        for direction, rules in spec.behavior.items()
    }
    if spec.scale_in_paused:
        behavior["scaleDown"] = behavior.get("scaleDown", {}) | {"selectPolicy": "Disabled"}
    return {
        "metadata": {
            "name": hpa_name(spec),
            "namespace": spec.name[0],
            "labels": {
                "app.kubernetes.io/managed-by": "keda-operator",
                "app.kubernetes.io/part-of": spec.name[1],
                "scaledobject.keda.sh/name": spec.name[1],
            },
            "ownerReferences": [owner],
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": api_version,
                "kind": spec.target_kind,
                "name": spec.target_name,
            },
            "minReplicas": max(1, spec.minimum),
            "maxReplicas": spec.maximum,
            "metrics": [_external(name, target) for name, target in metrics],
            **({"behavior": behavior} if behavior else {}),
        },
    }


def _external(name: str, target: float) -> Document:
    value = f"{round(target * 1000)}m"
    return {
        "type": "External",
        "external": {
            "metric": {"name": name},
            "target": {"type": "AverageValue", "averageValue": value},
        },
    }
