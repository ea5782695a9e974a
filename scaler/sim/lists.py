"""Paged lists of the embedded Kubernetes API: all pages are of one moment."""

from collections import OrderedDict
from uuid import uuid4

from scaler.sim.objects import Objects
from scaler.sim.patches import Document
from scaler.sim.requests import Request

OPEN_LISTS = 50
"""Continue tokens that are honored; older ones have expired."""


class Lists:
    """Answer list requests, and remember the rest of those that were cut by `limit`."""

    def __init__(self, *, objects: Objects) -> None:
        self._objects = objects
        self._rest: OrderedDict[str, tuple[int, list[Document]]] = OrderedDict()

    def page(self, request: Request) -> Document | None:
        """Give one page; None where its continue token has expired (HTTP 410)."""
        token = request.query.get("continue")
        if token:
            kept = self._rest.get(token)
            if kept is None:
                return None
            version, selected = kept
        else:
            version, present = self._objects.listed(request.resource.plural)
            selected = [document for document in present if request.selects(document)]
        limit = int(request.query.get("limit") or 0) or len(selected)
        metadata: Document = {"resourceVersion": str(version)}
        if selected[limit:]:
            metadata["continue"] = self._keep(version, selected[limit:])
            metadata["remainingItemCount"] = len(selected) - limit
        return self._list(request, metadata, selected[:limit])

    def _keep(self, version: int, rest: list[Document]) -> str:
        token = uuid4().hex
        self._rest[token] = (version, rest)
        while len(self._rest) > OPEN_LISTS:
            self._rest.popitem(last=False)
        return token

    def _list(self, request: Request, metadata: Document, items: list[Document]) -> Document:
        if request.metadata_only:
            api_version, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
        else:
            api_version = request.resource.api_version_of(request.version)
            kind = f"{request.resource.kind}List"
        served = [request.served(item) for item in items]
        return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": served}
