"""What an account may do: the API server is asked about everything that it serves."""

import json
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPSConnection
from urllib.parse import urlsplit

import requests

from scaler.kube.resources import Rule
from tests.e2e.api import Api, Object
from tests.e2e.waiting import together

READING = ("get", "list", "watch")
WRITING = ("create", "update", "patch", "delete", "deletecollection")
SPECIAL = ("bind", "escalate", "impersonate")
"""Verbs by which somebody gets rights of others."""
VERBS = (*READING, *WRITING, *SPECIAL)
UNLISTED = (("", "users"), ("", "groups"), ("", "*"), ("*", "*"))
"""Groups and resources that no discovery tells of: whom one may pose as, and everything."""
ALL = ""
"""The place that is every namespace, and what has none."""
CLIENTS = 4
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class StaleError(Exception):
    """Discovery does not know what an API of somebody else's serves."""


@dataclass(frozen=True, slots=True, order=True)
class Served:
    """A resource, or as `pods/exec` a subresource, in whichever version."""

    group: str
    resource: str
    namespaced: bool


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource in one place."""

    group: str
    resource: str
    verb: str
    place: str = ALL

    @property
    def writes(self) -> bool:
        """Say whether it is more than reading."""
        return self.verb not in READING

    def review(self) -> Object:
        """Write the question whether one has it."""
        resource, _, sub = self.resource.partition("/")
        attributes = {
            "group": self.group,
            "resource": resource,
            "subresource": sub,
            "verb": self.verb,
            "namespace": self.place,
        }
        spec = {"resourceAttributes": attributes}
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": spec,
        }


def served(api: Api) -> set[Served]:
    """Ask discovery for every resource and subresource of every group.

    Raises:
        StaleError: it can't tell of all.
    """
    found: set[Served] = set()
    for root in ("/api", "/apis"):
        answer = requests.get(
            api.url + root,
            headers={"Authorization": f"Bearer {api.token}", "Accept": _DISCOVERY},
            verify=str(api.authority),
            timeout=30,
        )
        answer.raise_for_status()
        found |= set(told(answer.json()))
    return found


def told(discovery: Object) -> Iterator[Served]:
    """Read an APIGroupDiscoveryList.

    Raises:
        StaleError: a version's resources are not known.
    """
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            if version.get("freshness") == "Stale":
                raise StaleError(f"{name}/{version['version']}")
            for each in version.get("resources", ()):
                namespaced = each["scope"] == "Namespaced"
                yield Served(name, each["resource"], namespaced)
                for sub in each.get("subresources", ()):
                    yield Served(name, f"{each['resource']}/{sub['subresource']}", namespaced)


def product(resources: Iterable[Served], places: Sequence[str]) -> list[Right]:
    """Give every verb on every resource: in the whole cluster, and in each place of namespaced."""
    listed = [
        Right(each.group, each.resource, verb, place)
        for each in sorted(resources)
        for verb in VERBS
        for place in (ALL, *(places if each.namespaced else ()))
    ]
    return listed + [Right(*each, verb) for each in UNLISTED for verb in VERBS]


def granted(
    rules: Iterable[Rule], asked: Iterable[Right], *, place: str | None = None
) -> set[Right]:
    """Give the rights of those asked for that rules grant, everywhere or in one place alone."""
    known = {
        (rule.group, resource, verb)
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    }
    return {
        each
        for each in asked
        if (each.group, each.resource, each.verb) in known and place in (None, each.place)
    }


def allowed(api: Api, rights: Sequence[Right]) -> set[Right]:
    """Ask with an account's own token which of these rights it has."""
    parts = (partial(_ask_all, api, rights[number::CLIENTS]) for number in range(CLIENTS))
    return set().union(*together(*parts))


def _ask_all(api: Api, rights: Sequence[Right]) -> set[Right]:
    """Ask over one connection; a session of requests takes several times as long."""
    url, context = urlsplit(api.url), ssl.create_default_context(cafile=str(api.authority))
    with closing(HTTPSConnection(url.hostname or "", url.port, context=context)) as connection:
        return {each for each in rights if _has(connection, api.token, each)}


def _has(connection: HTTPSConnection, token: str, right: Right) -> bool:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", _REVIEWS, body=json.dumps(right.review()), headers=headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    if answer.status != HTTPStatus.CREATED:
        raise AssertionError(f"{right}: HTTP {answer.status}: {body}")
    return bool(body["status"]["allowed"])
