"""The reflector's one law: whatever happens on the way, it ends with what the server has."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scaler.core.model import Kind, Workload
from scaler.kube.api import JSON, ApiError, NoAnswerError
from scaler.kube.reflector import Reflector
from scaler.kube.resources import RESOURCES
from scaler.kube.retry import Pace
from tests.kube.documents import Document, line, workload
from tests.kube.keeping import KeepingSink

RESOURCE = RESOURCES[Kind.WORKLOADS]
NAMES = ("a", "b", "c")


class Trouble(StrEnum):
    """What may happen to the next call."""

    GONE = "410"
    GONE_IN_STREAM = "410 in the stream"
    REFUSED = "503"
    FORBIDDEN = "403"
    BROKEN = "broken off"
    SILENT = "silent"
    CUT = "a line cut off"
    NONSENSE = "a line that is no event"
    NOT_SERVED = "404"


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Add or change an object."""

    name: str
    gpus: int
    malformed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Delete an object, if it is there."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Forget history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Let the reflector take a turn, and trouble meet it."""

    trouble: Trouble | None


STEPS = st.lists(
    st.builds(Put, name=st.sampled_from(NAMES), gpus=st.integers(1, 3), malformed=st.booleans())
    | st.builds(Drop, name=st.sampled_from(NAMES))
    | st.builds(Compact)
    | st.builds(Turn, trouble=st.none() | st.sampled_from(Trouble)),
    max_size=40,
)


@dataclass(slots=True)
class Server:
    """An API server in memory: two objects a page, a history, and one trouble at a time."""

    version: int = 1
    compacted: int = 0
    objects: dict[str, Document] = field(default_factory=dict)
    log: list[tuple[int, str, Document]] = field(default_factory=list)
    trouble: Trouble | None = None

    def apply(self, step: Put | Drop | Compact) -> None:
        """Change what is there."""
        match step:
            case Put():
                document = workload(step.name, gpus=step.gpus)
                if step.malformed:
                    document["spec"]["podSets"] = "none"
                self._happen("MODIFIED" if step.name in self.objects else "ADDED", document)
                self.objects[step.name] = document
            case Drop():
                if step.name in self.objects:
                    self._happen("DELETED", self.objects.pop(step.name))
            case Compact():
                self.compacted = self.version
                self.log.clear()

    def _happen(self, kind: str, document: Document) -> None:
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((self.version, kind, document))

    def truth(self) -> dict[str, int]:
        """Give GPUs by name of what can be decoded."""
        return {
            name: int(
                each["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"][
                    "requests"
                ]["nvidia.com/gpu"]
            )
            for name, each in self.objects.items()
            if isinstance(each["spec"]["podSets"], list)
        }

    # --- the API -------------------------------------------------------------------------------

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Discover or list."""
        assert accept == JSON
        self._meet()
        if not params:
            return b'{"resources": [{"name": "workloads"}]}'
        assert path.endswith("/workloads")
        start = int(params.get("continue", "0"))
        ordered = sorted(self.objects)
        names, more = ordered[start : start + 2], len(ordered) > start + 2
        meta: dict[str, Any] = {"resourceVersion": str(self.version)}
        if more:
            meta["continue"] = str(start + 2)
        items = [self.objects[name] for name in names]
        return json.dumps({"kind": "WorkloadList", "metadata": meta, "items": items}).encode()

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> "Lines":
        """Watch."""
        assert (accept, read_timeout > 0) == (JSON, True)
        assert path.endswith("/workloads")
        at = int(params["resourceVersion"])
        within = self.trouble in (
            Trouble.GONE_IN_STREAM,
            Trouble.BROKEN,
            Trouble.SILENT,
            Trouble.CUT,
            Trouble.NONSENSE,
        )
        if not within:
            self._meet()
        if at < self.compacted:
            raise ApiError(410, "too old")
        news = [line(kind, document) for version, kind, document in self.log if version > at]
        trouble, self.trouble = self.trouble, None
        return Lines(news, trouble)

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Nothing is written here."""
        raise AssertionError(f"{method} {path} {body!r} {content_type}")

    def _meet(self) -> None:
        trouble, self.trouble = self.trouble, None
        match trouble:
            case None:
                return
            case Trouble.GONE | Trouble.GONE_IN_STREAM:
                raise ApiError(410, "expired")
            case Trouble.REFUSED:
                raise ApiError(503, "not now")
            case Trouble.FORBIDDEN:
                raise ApiError(403, "forbidden")
            case Trouble.NOT_SERVED:
                raise ApiError(404, "not found")
            case _:
                raise NoAnswerError(trouble, silent=trouble is Trouble.SILENT)


class Lines:
    """What came since a version, half of it before trouble strikes."""

    def __init__(self, news: list[bytes], trouble: Trouble | None) -> None:
        self._news = news
        self._trouble = trouble

    def close(self) -> None:
        """Nothing is held open."""

    def __iter__(self) -> Iterator[bytes]:
        """Give the lines."""
        whole = self._news if self._trouble is None else self._news[: len(self._news) // 2]
        yield from whole
        lost = self._news[len(whole) :]
        match self._trouble:
            case Trouble.GONE_IN_STREAM:
                yield line("ERROR", {"kind": "Status", "code": 410, "message": "too old"})
            case Trouble.CUT:
                yield (lost[0] if lost else line("ADDED", workload()))[:30]
            case Trouble.NONSENSE:
                yield b"\x00nonsense"
                yield from lost
            case Trouble.BROKEN | Trouble.SILENT:
                raise NoAnswerError("gone", silent=self._trouble is Trouble.SILENT)
            case _:
                return


@given(steps=STEPS)
def test_the_records_end_equal_to_the_servers(steps: list[Put | Drop | Compact | Turn]) -> None:
    """Law: for any script of changes, 410s, disconnects and damaged lines."""
    server, sink = Server(), KeepingSink()
    reflector = Reflector(
        api=server, resource=RESOURCE, sink=sink, clock=lambda: 0.0, pace=Pace(steady=0.0)
    )
    for step in steps:
        if isinstance(step, Turn):
            server.trouble = step.trouble
            reflector.turn()
            server.trouble = None
        else:
            server.apply(step)
    for _ in range(5):
        reflector.turn()
    kept = {
        record.name: dict(record.pod_sets[0].shape.requests)["nvidia.com/gpu"]
        for record in sink.records.values()
        if isinstance(record, Workload)
    }
    assert kept == server.truth()
    assert sink.now().synced
    assert sink.now().skipped == len(server.objects) - len(kept)


@given(steps=STEPS)
def test_nothing_is_told_before_a_list_is_complete(
    steps: list[Put | Drop | Compact | Turn],
) -> None:
    """Law: the first thing that a sink hears of objects is a whole list, and synced comes after."""
    server, sink = Server(), KeepingSink()
    reflector = Reflector(api=server, resource=RESOURCE, sink=sink, clock=lambda: 0.0)
    for step in steps:
        if isinstance(step, Turn):
            server.trouble = step.trouble
            reflector.turn()
            server.trouble = None
            assert sink.lists or not sink.records
            assert any(state.synced for state in sink.states) == (sink.lists > 0)
        else:
            server.apply(step)
