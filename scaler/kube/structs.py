"""What is decoded of an object's metadata, conditions and pod spec, and nothing beside it.

`Raw` stands where the bytes serve as the key of a cache: they are decoded once for all objects
that hold the same. An explicit JSON null is taken like an absent field.
"""

from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Quantities: TypeAlias = dict[str, str | int | float]
Labels: TypeAlias = dict[str, str]

NOTHING = msgspec.Raw()
"""A field that is absent."""


class Wire(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    """A JSON object of which only the named fields are read; it can hold no cycle."""


class Present(Wire):
    """An object that only needs to be there."""


# --- metadata ----------------------------------------------------------------------------------


class Owner(Wire):
    """One of metadata.ownerReferences."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class Marks(Wire):
    """The product's own keys, good as labels and as annotations."""

    ignore: str | None = msgspec.field(default=None, name="kueue-gpu-scaler.dev/ignore")
    wake: str | None = msgspec.field(default=None, name="kueue-gpu-scaler.dev/wake")


class Metadata(Wire):
    """Metadata but for labels and annotations, which each kind reads in its own way."""

    name: str
    namespace: str = ""
    uid: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None


class Owned(Metadata):
    """Metadata with owners."""

    owner_references: list[Owner] | None = None


class Condition(Wire):
    """One of status.conditions; fits what `classify.standing` asks for."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


# --- pod specs ---------------------------------------------------------------------------------


class Container(Wire):
    """A container or init container."""

    resources: msgspec.Raw = NOTHING
    restart_policy: str | None = None


class NodeAffinity(Wire):
    """The required part of node affinity."""

    required_during_scheduling_ignored_during_execution: msgspec.Raw = NOTHING


class Affinity(Wire):
    """Affinity, of which only that to nodes bears on packing."""

    node_affinity: NodeAffinity | None = None


class PodSpec(Wire):
    """What bears on requests and placement, of a template or of a pod."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: msgspec.Raw = NOTHING
    resources: msgspec.Raw = NOTHING
    resource_claims: list[Present] | None = None
    node_selector: msgspec.Raw = NOTHING
    affinity: Affinity | None = None
    tolerations: msgspec.Raw = NOTHING
    node_name: str = ""
    priority: int | None = None


class Template(Wire):
    """A pod template."""

    spec: PodSpec = msgspec.field(default_factory=PodSpec)


# --- what the Raw fields hold ------------------------------------------------------------------


class Resources(Wire):
    """`resources` of a container or pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class Expression(Wire):
    """One matchExpression of an affinity term or label selector."""

    key: str
    operator: str
    values: list[str] | None = None


class Term(Wire):
    """One term of required node affinity."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class Terms(Wire):
    """A node selector: any of its terms."""

    node_selector_terms: list[Term] | None = None


class WireToleration(Wire):
    """A toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class WireTaint(Wire):
    """A node's or flavor's taint."""

    key: str
    value: str = ""
    effect: str = ""


class WireTopology(Wire):
    """A podset's topologyRequest."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Count | None = None
