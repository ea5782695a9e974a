"""Turn pod specs into PodShapes, each distinct one once.

Templates differ in names, images and environments, but hardly in what they ask. So the few Raw
fields that bear on a shape are the key of a cache: 100,000 Workloads share a handful of shapes.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec

from scaler.core.model import (
    Amounts,
    NodeRequirement,
    PodSet,
    PodShape,
    Taint,
    Toleration,
    TopologyRequest,
)
from scaler.core.quantity import amounts
from scaler.core.shape import (
    InitContainer,
    PodLevel,
    asks_extended,
    container_requests,
    pod_requests,
)
from scaler.kube.structs import (
    Container,
    Expression,
    PodSpec,
    Quantities,
    Resources,
    Terms,
    WireTaint,
    WireToleration,
    WireTopology,
)

_DISTINCT = 32768
"""Bound of each cache, in entries."""

_SIDECAR = "Always"
_NOWHERE = (NodeRequirement(key="", operator="In"),)
"""An empty affinity term matches no node."""

_resources = msgspec.json.Decoder(Resources | None)
_quantities = msgspec.json.Decoder(Quantities | None)
_strings = msgspec.json.Decoder(dict[str, str] | None)
_terms = msgspec.json.Decoder(Terms | None)
_tolerations = msgspec.json.Decoder(list[WireToleration] | None)
_topology = msgspec.json.Decoder(WireTopology | None)


class ShapeKey(NamedTuple):
    """The bytes that a PodShape follows from; equal bytes give the very same PodShape."""

    containers: tuple[bytes, ...]
    inits: tuple[tuple[bytes, bool], ...]
    pod_level: bytes
    overhead: bytes
    node_selector: bytes
    affinity: bytes
    tolerations: bytes
    claims: bool


PodSetKey: TypeAlias = tuple[str, int, int | None, bytes, ShapeKey]
"""What a PodSet follows from: name, count, minCount, topologyRequest, shape."""


def shape_key(spec: PodSpec) -> ShapeKey:
    """Take what bears on the shape; decodes nothing."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return ShapeKey(
        tuple([bytes(each.resources) for each in spec.containers or ()]),
        tuple([_init_key(each) for each in spec.init_containers or ()]),
        bytes(spec.resources),
        bytes(spec.overhead),
        bytes(spec.node_selector),
        bytes(affinity.required_during_scheduling_ignored_during_execution) if affinity else b"",
        bytes(spec.tolerations),
        bool(spec.resource_claims),
    )


def _init_key(container: Container) -> tuple[bytes, bool]:
    return bytes(container.resources), container.restart_policy == _SIDECAR


@lru_cache(maxsize=_DISTINCT)
def shape(key: ShapeKey) -> PodShape:
    """Decode a PodShape.

    Raises:
        ValueError: a quantity or field is malformed.
    """
    requests = _requests(key)
    return PodShape(
        requests=requests,
        node_selector=string_map(key.node_selector),
        affinity=_affinity(key.affinity),
        tolerations=_tolerations_of(key.tolerations),
        dra_only=key.claims and not asks_extended(requests),
    )


@lru_cache(maxsize=_DISTINCT)
def pod_sets(keys: tuple[PodSetKey, ...]) -> tuple[PodSet, ...]:
    """Decode a Workload's podsets, shared by all Workloads that ask the same.

    Raises:
        ValueError: a quantity or field is malformed.
    """
    return _same(tuple(_pod_set(key) for key in keys))


@lru_cache(maxsize=_DISTINCT)
def _same(equal: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """Give the first of all equal tuples: fields may be ordered differently on the wire."""
    return equal


def _pod_set(key: PodSetKey) -> PodSet:
    name, count, min_count, topology, shaped = key
    return PodSet(
        name=name,
        count=count,
        min_count=min_count,
        shape=shape(shaped),
        topology=_topology_request(topology),
    )


def _topology_request(raw: bytes) -> TopologyRequest | None:
    wire = _topology.decode(raw) if raw else None
    if wire is None:
        return None
    request = TopologyRequest(
        required=wire.required,
        preferred=wire.preferred,
        slice_level=wire.pod_set_slice_required_topology,
        slice_size=wire.pod_set_slice_size,
        unconstrained=wire.unconstrained is True,
    )
    return None if request == TopologyRequest() else request


# --- requests ----------------------------------------------------------------------------------


def _requests(key: ShapeKey) -> Amounts:
    pod_level = _resources.decode(key.pod_level) if key.pod_level else None
    return pod_requests(
        containers=[_container_requests(raw) for raw in key.containers],
        init_containers=[
            InitContainer(requests=_container_requests(raw), sidecar=sidecar)
            for raw, sidecar in key.inits
        ],
        pod_level=PodLevel(
            requests=amounts((pod_level and pod_level.requests) or {}),
            limits=amounts((pod_level and pod_level.limits) or {}),
        ),
        overhead=amounts_of(key.overhead),
    )


@lru_cache(maxsize=_DISTINCT)
def _container_requests(raw: bytes) -> Amounts:
    resources = _resources.decode(raw) if raw else None
    if resources is None:
        return ()
    return container_requests(resources.requests or {}, resources.limits or {})


@lru_cache(maxsize=_DISTINCT)
def amounts_of(raw: bytes) -> Amounts:
    """Decode a map of quantities.

    Raises:
        ValueError: a quantity is malformed.
    """
    return amounts((_quantities.decode(raw) if raw else None) or {})


@lru_cache(maxsize=_DISTINCT)
def string_map(raw: bytes) -> tuple[tuple[str, str], ...]:
    """Decode a map of strings, sorted.

    Raises:
        ValueError: not a map of strings.
    """
    return tuple(sorted(((_strings.decode(raw) if raw else None) or {}).items()))


# --- placement ---------------------------------------------------------------------------------


def _affinity(raw: bytes) -> tuple[tuple[NodeRequirement, ...], ...]:
    terms = _terms.decode(raw) if raw else None
    return tuple(
        requirements((*(term.match_expressions or ()), *(term.match_fields or ()))) or _NOWHERE
        for term in (terms.node_selector_terms if terms else None) or ()
    )


def requirements(expressions: Iterable[Expression]) -> tuple[NodeRequirement, ...]:
    """Give matchExpressions as records."""
    return tuple(
        NodeRequirement(key=each.key, operator=each.operator, values=tuple(each.values or ()))
        for each in expressions
    )


def _tolerations_of(raw: bytes) -> tuple[Toleration, ...]:
    return tolerations((_tolerations.decode(raw) if raw else None) or ())


def tolerations(wire: Sequence[WireToleration]) -> tuple[Toleration, ...]:
    """Give tolerations as records; the operator defaults to Equal."""
    return tuple(
        Toleration(
            key=each.key, operator=each.operator or "Equal", value=each.value, effect=each.effect
        )
        for each in wire
    )


def taints(wire: Sequence[WireTaint] | None) -> tuple[Taint, ...]:
    """Give taints as records."""
    return tuple(Taint(key=each.key, value=each.value, effect=each.effect) for each in wire or ())
