"""Ask the API server in which version it serves a kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from scaler.kube.api import Api, ApiError, NoAnswerError
from scaler.kube.resources import Resource

_FORBIDDEN = 403
_NOT_FOUND = 404
_NO_PARAMS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where a kind is listed and watched, over all namespaces."""

    path: str
    version: str


class _ApiResource(msgspec.Struct):
    name: str = ""


class _ApiResources(msgspec.Struct):
    resources: list[_ApiResource] | None = None


_answer = msgspec.json.Decoder(_ApiResources)


def discover(api: Api, resource: Resource) -> Served | None:
    """Give the first of the resource's versions that is served; None where none is.

    A cluster that hides discovery is taken at the first version: the list will tell.

    Raises:
        ApiError, NoAnswerError: neither yes nor no came back.
    """
    for version in resource.versions:
        root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
        if _serves(api, root, resource.plural):
            return Served(path=f"{root}/{resource.plural}", version=version)
    return None


def _serves(api: Api, root: str, plural: str) -> bool:
    try:
        answer = _answer.decode(api.get(root, params=_NO_PARAMS))
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return False
        if error.status == _FORBIDDEN:
            return True
        raise
    except (ValueError, RecursionError) as error:
        raise NoAnswerError(f"discovery of {root} is no APIResourceList: {error}") from error
    return any(each.name == plural for each in answer.resources or ())
