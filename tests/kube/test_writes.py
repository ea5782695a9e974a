"""Steps go to the API server one by one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scaler.core.hold.steps import SetGroup, SetParallelism, SetReplicas, Step, WriteStatus
from scaler.core.model import Mark, WorkerScaleStatus
from scaler.kube.api import JSON, ApiError, NoAnswerError, Stream
from scaler.kube.client import ApiServer
from scaler.kube.credentials import find_credentials
from scaler.kube.writes import Writer
from tests.kube.documents import Document
from tests.kube.loopback import running
from tests.kube.worker_scales import a_scale, scale_document

MARK = Mark(component="gpu", by="ws", uid="uid-ws", was="false")
TAKE = SetGroup(cluster=("ml", "rc"), uid="uid-rc", index=0, group="gpu", suspend=True, mark=MARK)
JOB = SetParallelism(job=("ml", "j"), resource_version="9", parallelism=0, mark=MARK, taking=True)
SCALE = a_scale()


@dataclass(slots=True)
class Scripted:
    """An Api that gives these answers in order, and keeps what was sent."""

    answers: list[bytes | Exception]
    sent: list[tuple[str, str, bytes, str]] = field(default_factory=list)

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Take a write."""
        self.sent.append((method, path, body, content_type))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Refuse: steps read nothing."""
        raise NotImplementedError(path)

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Refuse: steps watch nothing."""
        raise NotImplementedError(path)


def refused(status: int) -> ApiError:
    """Make the API server's no."""
    return ApiError(status, "no")


def answer(**meta: object) -> bytes:
    """Write the WorkerScale that comes back."""
    document: Document = scale_document()
    document["metadata"] |= meta
    return json.dumps(document).encode()


def test_the_first_that_is_taken_is_the_last() -> None:
    """Nearly all objects have annotations."""
    api = Scripted([b"{}"])
    assert Writer(api).apply(SCALE, TAKE) == b"{}"
    assert len(api.sent) == 1


def test_a_failed_test_leads_to_the_next_request() -> None:
    """An object without annotations takes the second; the third is never needed."""
    api = Scripted([refused(422), b"{}"])
    assert Writer(api).apply(SCALE, TAKE) == b"{}"
    first, second = (body for _, _, body, _ in api.sent)
    assert first != second


def test_where_none_is_taken_the_refusal_is_told() -> None:
    """The object is not as the plan saw it."""
    api = Scripted([refused(422), refused(422)])
    with pytest.raises(ApiError, match="422"):
        Writer(api).apply(SCALE, TAKE)
    assert api.answers == []


@pytest.mark.parametrize("status", [403, 404, 409, 429, 500])
def test_any_other_refusal_ends_the_step(status: int) -> None:
    """Nothing that another spelling would mend."""
    api = Scripted([refused(status)])
    with pytest.raises(ApiError, match=str(status)):
        Writer(api).apply(SCALE, TAKE)


@pytest.mark.parametrize("step", [TAKE, JOB, SetReplicas(replicas=1)])
def test_no_answer_is_not_asked_again(step: Step) -> None:
    """It may have been done; the next look tells."""
    api = Scripted([NoAnswerError("broken off")])
    with pytest.raises(NoAnswerError):
        Writer(api).apply(SCALE, step)


def test_the_next_step_goes_on_from_the_answer() -> None:
    """Else the second write of a plan would always be refused."""
    api = Scripted([answer(resourceVersion="78"), answer(resourceVersion="79")])
    writer = Writer(api)
    status = WriteStatus(status=WorkerScaleStatus(size=4))
    second = writer.advance(writer.advance(SCALE, SetReplicas(replicas=4)), status)
    assert [json.loads(body)["metadata"]["resourceVersion"] for _, _, body, _ in api.sent] == [
        "77",
        "78",
    ]
    assert second.resource_version == "79"


def test_writes_to_other_objects_leave_the_workerscale_as_it_is() -> None:
    """Their answer is another kind's."""
    assert Writer(Scripted([b"{}"])).advance(SCALE, JOB) is SCALE


@pytest.mark.parametrize("body", [b"", b"{}", b'{"kind":"Status"}'])
def test_an_answer_that_is_no_workerscale_is_none(body: bytes) -> None:
    """The next look tells what became of it."""
    with pytest.raises(NoAnswerError):
        Writer(Scripted([body])).advance(SCALE, SetReplicas(replicas=1))


def test_the_body_reaches_the_server(tmp_path: Path) -> None:
    """Over HTTP."""
    with running() as server:
        api = ApiServer(find_credentials(server.kubeconfig(tmp_path)))
        try:
            Writer(api).apply(SCALE, JOB)
        finally:
            api.close()
        ((method, path, body),) = server.written
    assert (method, path) == ("PATCH", "/apis/batch/v1/namespaces/ml/jobs/j")
    assert body["spec"] == {"parallelism": 0}
