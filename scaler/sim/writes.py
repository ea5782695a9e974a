"""What of a client's write becomes of an object: the Kubernetes API server's rules for updates."""

from collections.abc import Callable
from copy import deepcopy
from http import HTTPStatus
from typing import Any

from scaler.sim.kinds import Resource
from scaler.sim.objects import StaleError
from scaler.sim.patches import Document, PatchFailedError, json_patched, merged
from scaler.sim.scale import scale_of, write_scale

KEPT = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
"""Metadata that no client changes."""
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class RefusedError(Exception):
    """The API server does not take the write: status, reason and message of its answer."""

    def __init__(self, status: HTTPStatus, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


def replacing(body: Document, *, resource: Resource) -> Callable[[Document], Document]:
    """Give the change that a PUT asks for.

    Raises:
        RefusedError: the kind wants a resourceVersion, and there is none (when applied).
    """

    def change(_: Document) -> Document:
        if not resource.unconditional and not body["metadata"].get("resourceVersion"):
            text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
            raise invalid(text)
        return deepcopy(body)

    return change


def patching(body: Any, *, content_type: str) -> Callable[[Document], Document]:  # noqa: ANN401 - JSON
    """Give the change that a PATCH asks for.

    Raises:
        RefusedError: it is no sort of patch that is known here; a JSON patch fails (when applied).
    """
    match content_type.partition(";")[0]:
        case "application/json-patch+json":
            return lambda document: _json_patched(document, body)
        case "application/merge-patch+json":
            return lambda document: _object(merged(document, body))
        case other:
            status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
            text = f"the body of the request was in an unknown format: {other}"
            raise RefusedError(status, "UnsupportedMediaType", text)


def _json_patched(document: Document, operations: list[Document]) -> Document:
    try:
        return json_patched(document, operations)
    except PatchFailedError as error:
        text = "the server rejected our request due to an error in our request"
        raise invalid(text) from error


def _object(document: object) -> Document:
    if not isinstance(document, dict):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "BadRequest", "the body is no object")
    return document


def write(
    document: Document,
    change: Callable[[Document], Document],
    *,
    resource: Resource,
    part: str | None,
) -> None:
    """Write a client's change into a copy of the stored object, through the door that it came by.

    Raises:
        StaleError: the change is of another resourceVersion.
        RefusedError: the change is not allowed.
    """
    seen = scale_of(document) if part == "scale" else deepcopy(document)
    after = change(seen)
    _is_of_this_version(document, after, resource)
    match part:
        case "scale":
            write_scale(document, after)
        case "status":
            document.pop("status", None)
            document.update({key: value for key, value in after.items() if key == "status"})
        case _:
            _write_main(document, after, resource)


def _is_of_this_version(before: Document, after: Document, resource: Resource) -> None:
    told, known = after.get("metadata", {}), before["metadata"]
    if told.get("resourceVersion") not in (None, "", known["resourceVersion"]):
        raise StaleError(resource.qualified, known["name"])
    if told.get("uid") not in (None, "", known["uid"]):
        raise invalid("metadata.uid: Invalid value: field is immutable")


def _write_main(document: Document, after: Document, resource: Resource) -> None:
    before = deepcopy(document)
    document.clear()
    document.update(after)
    document.update(apiVersion=before["apiVersion"], kind=before["kind"])
    document["metadata"] = _metadata(before["metadata"], after["metadata"])
    if resource.status:
        document.pop("status", None)
        document.update({key: value for key, value in before.items() if key == "status"})
    if resource.default_replicas is not None:
        document.setdefault("spec", {}).setdefault("replicas", resource.default_replicas)


def _metadata(before: Document, after: Document) -> Document:
    place = before.get("namespace")
    if (after.get("name"), after.get("namespace", place)) != (before["name"], place):
        text = "the name of the object does not match the name on the URL"
        raise RefusedError(HTTPStatus.BAD_REQUEST, "BadRequest", text)
    new = set(after.get("finalizers", ())) - set(before.get("finalizers", ()))
    if "deletionTimestamp" in before and new:
        text = "no new finalizers can be added if the object is being deleted"
        raise invalid(f"metadata.finalizers: Forbidden: {text}")
    free = {key: value for key, value in after.items() if key not in KEPT}
    kept = {key: before[key] for key in (*KEPT, "namespace", "resourceVersion") if key in before}
    return free | kept


def invalid(text: str) -> RefusedError:
    """Give HTTP 422 with a message."""
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", text)
