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
    """Give the document with the operations add, replace, remove, move, copy and test applied.

    As the API server's library has it, and not the RFC: `replace` of a key that isn't there adds
    it, and `test` for null passes where the key isn't there.

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
    place, last = _found(document, operation["path"])
    match operation["op"]:
        case "add":
            _add(place, last, operation["value"])
        case "replace" if isinstance(place, list):
            place[_index(place, last)] = deepcopy(operation["value"])
        case "replace":
            place[last] = deepcopy(operation["value"])
        case "remove":
            _remove(place, last)
        case "move":
            _add(place, last, _remove(*_found(document, operation["from"])))
        case "copy":
            _add(place, last, _read(*_found(document, operation["from"])))
        case "test" if _same(_read(place, last), operation["value"]):
            pass
        case _:
            raise ValueError(last)


def _found(document: Document, path: str) -> tuple[Any, str]:
    """Give the object or list that a pointer's last part speaks of, and that part."""
    _, *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    place: Any = document
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if not isinstance(place, dict | list):
        raise TypeError(path)
    return place, last


def _index(place: list[Any], part: str) -> int:
    index = int(part)
    if not -len(place) <= index < len(place):
        raise IndexError(part)
    return index


def _add(place: Any, part: str, value: object) -> None:  # noqa: ANN401 - an object or a list
    if isinstance(place, dict):
        place[part] = deepcopy(value)
        return
    at = len(place) if part == "-" else int(part)
    if not 0 <= at <= len(place):
        raise IndexError(part)
    place.insert(at, deepcopy(value))


def _remove(place: Any, part: str) -> object:  # noqa: ANN401 - an object or a list
    return place.pop(part if isinstance(place, dict) else _index(place, part))


def _read(place: Any, part: str) -> object:  # noqa: ANN401 - an object or a list
    return place.get(part) if isinstance(place, dict) else place[_index(place, part)]


def _same(one: object, other: object) -> bool:
    """Compare as JSON does: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and one == other
