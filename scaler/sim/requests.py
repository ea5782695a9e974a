"""What a request to the embedded Kubernetes API asks for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from scaler.core.model import Name
from scaler.sim.kinds import Resource
from scaler.sim.patches import Document

PATH = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>status|scale))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for objects of one kind, or for one object, or for a part of one."""

    resource: Resource
    version: str
    namespace: str
    """Empty: all namespaces, or a cluster-scoped kind."""
    name: str | None
    part: str | None
    """`status` or `scale`."""
    query: Mapping[str, str]
    metadata_only: bool
    """The Accept header asks for PartialObjectMetadata."""

    @property
    def key(self) -> Name:
        """Give namespace and name of the object."""
        return (self.namespace, self.name or "")

    def served(self, document: Document) -> Document:
        """Give an object as this request wants to see it: its version, or its metadata alone."""
        if self.metadata_only:
            return {
                "apiVersion": "meta.k8s.io/v1",
                "kind": "PartialObjectMetadata",
                "metadata": document["metadata"],
            }
        return {**document, "apiVersion": self.resource.api_version_of(self.version)}

    def selects(self, document: Document) -> bool:
        """Say whether an object is in the namespace and has the labels that are asked for."""
        metadata = document["metadata"]
        if self.namespace and metadata.get("namespace", "") != self.namespace:
            return False
        wanted = [part.partition("=") for part in self.query.get("labelSelector", "").split(",")]
        labels = metadata.get("labels", {})
        return all(labels.get(key) == value.lstrip("=") for key, _, value in wanted if key)


def parse(target: str, *, accept: str, resources: Mapping[str, Resource]) -> Request | None:
    """Read path and query of a request; None where no served kind is meant."""
    url = urlsplit(target)
    found = PATH.match(url.path)
    resource = resources.get(found["plural"]) if found else None
    if found is None or resource is None:
        return None
    if resource.group != (found["group"] or "") or found["version"] not in resource.versions:
        return None
    return Request(
        resource=resource,
        version=found["version"],
        namespace=found["namespace"] or "",
        name=found["name"],
        part=found["part"],
        query={key: values[-1] for key, values in parse_qs(url.query).items()},
        metadata_only="as=PartialObjectMetadata" in accept,
    )
