"""The table of rights is what the code uses: nothing is missing, and nothing is claimed in vain."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import scaler
from scaler.actuator.lease import Elector
from scaler.core.hold.steps import (
    DropMark,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import Mark
from scaler.kube.api import JSON, Api, NoAnswerError, Stream
from scaler.kube.events import EventWriter
from scaler.kube.reflector import Reflector
from scaler.kube.resources import (
    ACTUATOR_RESOURCES,
    EVENT_RULE,
    LEASE_RULE,
    PATCH_RULES,
    RESOURCES,
    Resource,
    Rule,
    actuator_rules,
    rules,
)
from scaler.kube.writes import Writer
from scaler.observer.announce import About
from tests.actuator.leases import LeaseApi
from tests.builders import NOW, make_scaled_object
from tests.kube.keeping import KeepingSink
from tests.kube.test_events import EventStore, News
from tests.kube.worker_scales import a_scale

Used = tuple[str, str, str]
"""API group, resource and verb."""
OWN = "ops"
MARK = Mark(component="gpu", by="ws", uid="uid-ws", was="")
SCALE = a_scale()
STEPS: tuple[Step, ...] = (
    SetGroup(cluster=("ml", "rc"), uid="u", index=0, group="gpu", suspend=True, mark=MARK),
    SetParallelism(job=("ml", "j"), resource_version="9", parallelism=0, taking=True, mark=MARK),
    *(
        DropMark(kind=kind, object=("ml", "x"), mark=MARK)
        for kind in ("RayCluster", "Job", "Notebook", "Workload")
    ),
    SetActive(workload=("ml", "w"), uid="u", active=False, by="ws"),
    SetNotebook(notebook=("ml", "n"), resource_version="9", stop=True, mark=MARK),
    SetReplicas(replicas=1),
    SetFinalizer(present=True),
    WriteStatus(status=SCALE.status),
)
ASKERS = {
    "actuator/lease.py",
    "kube/discovery.py",
    "kube/events.py",
    "kube/listing.py",
    "kube/reflector.py",
    "kube/writes.py",
    "live.py",
}
"""Modules that speak to the API server; those above `kube` pass on what they are given."""


class Recorder:
    """Passes requests on, and keeps what each needs a right for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.used: set[Used] = set()
        self.places: set[str] = set()

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Pass it on."""
        self._note(path, "get", "list")
        return self._api.get(path, params=params, accept=accept)

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Pass it on."""
        self._note(path, "watch", "watch")
        return self._api.stream(path, params=params, accept=accept, read_timeout=read_timeout)

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Pass it on."""
        self._note(path, *({"POST": "create", "PATCH": "patch"}[method],) * 2)
        return self._api.send(method, path, body=body, content_type=content_type)

    def _note(self, path: str, named: str, unnamed: str) -> None:
        _, root, *rest = path.split("/")
        group = "" if root == "api" else rest.pop(0)
        _version, *rest = rest
        if not rest:
            return  # discovery, which needs no right of ours
        if rest[0] == "namespaces":
            _, place, *rest = rest
            self.places.add(place)
        resource, *name = rest
        sub = "".join(f"/{each}" for each in name[1:])
        self.used.add((group, resource + sub, named if name else unnamed))


class Empty:
    """An API server that serves every kind and has no object; its watches break off."""

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Give an empty list, or tell that all is served."""
        del params, accept
        plurals = [{"name": each.plural} for each in ACTUATOR_RESOURCES.values()]
        served = {"resources": plurals}
        empty = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}
        return msgspec.json.encode(empty if path.endswith(tuple(ENDS)) else served)

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Break off."""
        raise NoAnswerError(f"{path} {params} {accept} {read_timeout}")

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Take it."""
        del method, path, body, content_type
        return b"{}"


ENDS = [f"/{each.plural}" for each in ACTUATOR_RESOURCES.values()]


def claimed(found: Iterable[Rule]) -> set[Used]:
    """Give single rights."""
    return {
        (rule.group, each, verb) for rule in found for each in rule.resources for verb in rule.verbs
    }


def read(resources: Iterable[Resource]) -> set[Used]:
    """Let reflectors discover, list and watch; give what they needed."""
    recorder = Recorder(Empty())
    for resource in resources:
        reflector = Reflector(
            api=recorder, resource=resource, sink=KeepingSink(), clock=lambda: NOW
        )
        for _ in range(3):
            reflector.turn()
    return recorder.used


def led() -> Recorder:
    """Let an elector take a Lease that is not there, and renew it."""
    recorder = Recorder(LeaseApi())
    elector = Elector(recorder, namespace=OWN, name="lease", identity="a", clock=lambda: NOW)
    elector.turn()
    elector.turn()
    assert elector.leading
    return recorder


def told() -> set[Used]:
    """Let the same be told twice: the first time it is written, then counted."""
    recorder = Recorder(EventStore())
    news = News(about=About.scaled_object(make_scaled_object()))
    for writer in (EventWriter(recorder), EventWriter(recorder)):
        assert writer.write(news)
    return recorder.used


def acted() -> set[Used]:
    """Let every step be taken."""
    recorder = Recorder(Empty())
    for step in STEPS:
        Writer(recorder).apply(SCALE, step)
    return recorder.used


def test_every_step_is_tried() -> None:
    """Else a right that only a new step needs would be missed."""
    assert {type(step) for step in STEPS} == set(get_args(Step))


def test_serve_claims_what_it_uses() -> None:
    """It reads its kinds and writes Events."""
    assert read(RESOURCES.values()) | told() == claimed(rules())


def test_the_actuator_claims_what_it_uses() -> None:
    """And changes, for each step, one kind."""
    used = read(ACTUATOR_RESOURCES.values()) | told() | acted()
    assert used == claimed(actuator_rules())
    assert acted() == claimed(PATCH_RULES)
    assert told() == claimed([EVENT_RULE])


def test_the_lease_is_had_by_what_is_claimed_in_its_own_namespace() -> None:
    """Neither listed nor watched, updated or deleted."""
    recorder = led()
    assert recorder.used == claimed([LEASE_RULE])
    assert recorder.places == {OWN}


def test_nobody_else_speaks_to_the_api_server() -> None:
    """What another module would ask for is in none of the tests above."""
    root = Path(scaler.__file__).parent
    files = [each for each in root.rglob("*.py") if "sim" not in each.relative_to(root).parts]
    found = {str(each.relative_to(root)) for each in files if asks(ast.parse(each.read_text()))}
    assert found == ASKERS


@pytest.mark.parametrize("text", ["self._api.send('POST', p)", "api.get(p, params={})"])
def test_a_request_is_seen(text: str) -> None:
    """Whatever the client is called by."""
    assert asks(ast.parse(text))
    assert not asks(ast.parse("session.get(url)"))


def asks(tree: ast.AST) -> bool:
    """Say whether a method of an `api` is called."""
    return any(_is_request(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call))


def _is_request(called: ast.expr) -> bool:
    if not isinstance(called, ast.Attribute) or called.attr not in {"get", "stream", "send"}:
        return False
    return ast.unparse(called.value).rpartition(".")[2].lstrip("_") == "api"
