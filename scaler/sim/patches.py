"""Apply patches as the Kubernetes API takes them: merge patch (RFC 7386), JSON patch (RFC 6902)."""

from copy import deepcopy
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""A Kubernetes object in its wire form."""


class PatchFailedError(ValueError):
    """A JSON patch can't be applied: a test failed or a path isn't there (HTTP 422)."""


def merged(document: object, patch: object) -> object:
    """Give the document with a merge patch applied; null deletes a key, lists are replaced."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def json_patched(document: Document, operations: list[Document]) -> Document:
    """Give the document with the operations add, replace, remove and test applied in order.

    Raises:
        PatchFailedError: a test failed, a path isn't there, or the operation isn't known.
    """
    result = deepcopy(document)
    for operation in operations:
        try:
            _apply(result, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PatchFailedError(f"{operation.get('op')} {operation.get('path')}") from error
    return result


def _apply(document: Document, operation: Document) -> None:
    *parents, last = [
        part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
    ]
    place: Any = document
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if isinstance(place, list):
        _apply_to_list(place, last, operation)
    else:
        _apply_to_object(place, last, operation)


def _apply_to_object(place: Document, key: str, operation: Document) -> None:
    match operation["op"]:
        case "add":
            place[key] = operation["value"]
        case "replace" if key in place:
            place[key] = operation["value"]
        case "remove":
            del place[key]
        case "test" if place.get(key) == operation["value"]:  # absent is null, as Kubernetes has it
            pass
        case _:
            raise ValueError(key)


def _apply_to_list(place: list[Any], key: str, operation: Document) -> None:
    match operation["op"]:
        case "add":
            place.insert(len(place) if key == "-" else int(key), operation["value"])
        case "replace":
            place[int(key)] = operation["value"]
        case "remove":
            del place[int(key)]
        case "test" if place[int(key)] == operation["value"]:
            pass
        case _:
            raise ValueError(key)
