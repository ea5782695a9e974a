"""What one pod asks of a node, and podsets of such pods."""

from dataclasses import dataclass

from scaler.core.model.names import Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A node's or flavor's taint."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration; an empty key with Exists tolerates all, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequirement:
    """One matchExpression of a required node affinity term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """What one pod asks of a node."""

    requests: Amounts
    """After the init and sidecar rule, overhead and limits-as-requests; without `pods`."""
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[NodeRequirement, ...], ...] = ()
    """Required node affinity: one of the terms must hold, each with all its requirements."""
    tolerations: tuple[Toleration, ...] = ()
    dra_only: bool = False
    """Asks for devices by DRA claims, and for none as an extended resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequest:
    """A podset's topologyRequest, as far as it bears on packing."""

    required: str | None = None
    """Node label of the level that all pods must share."""
    preferred: str | None = None
    slice_level: str | None = None
    slice_size: int | None = None
    unconstrained: bool = False
    """Anywhere, but on flavors with a topology alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """A podset of a Workload's spec."""

    name: str
    count: int
    shape: PodShape
    min_count: int | None = None
    topology: TopologyRequest | None = None
