"""Apply the steps of a plan, one write each."""

from types import MappingProxyType

from scaler.core.hold.steps import SetFinalizer, SetReplicas, Step, WriteStatus
from scaler.core.model import Kind, WorkerScale
from scaler.kube.api import Api, ApiError, NoAnswerError
from scaler.kube.decode import decode_one
from scaler.kube.requests import Request, Versions, requests

_TEST_FAILED = 422
_FIRST: Versions = MappingProxyType({})


class Writer:
    """Applies steps; holds nothing but the way in."""

    def __init__(self, api: Api, versions: Versions = _FIRST) -> None:
        """Take the way in, and the versions in which kinds are served (Workloads: either)."""
        self._api = api
        self._versions = versions

    def apply(self, scale: WorkerScale, step: Step) -> bytes:
        """Apply one step; give the changed object as the API server answered it.

        Raises:
            ApiError: refused: 409 where a resourceVersion is old, 422 where a test failed,
                404 where the object is gone.
            NoAnswerError: nobody knows whether it was done.
        """
        *others, last = requests(scale, step, self._versions)
        for request in others:
            try:
                return self._send(request)
            except ApiError as error:
                if error.status != _TEST_FAILED:
                    raise
        return self._send(last)

    def advance(self, scale: WorkerScale, step: Step) -> WorkerScale:
        """Apply one step; give the WorkerScale as it is then, to apply the next one of the plan.

        Raises:
            ApiError, NoAnswerError: as `apply` does.
        """
        answer = self.apply(scale, step)
        if not isinstance(step, SetReplicas | SetFinalizer | WriteStatus):
            return scale
        return _answered(answer)

    def _send(self, request: Request) -> bytes:
        return self._api.send(
            request.method, request.path, body=request.body, content_type=request.content_type
        )


def _answered(answer: bytes) -> WorkerScale:
    try:
        found = decode_one(Kind.WORKER_SCALES, answer)
    except ValueError as error:
        raise NoAnswerError(f"the answer is no WorkerScale: {error}") from error
    if not isinstance(found, WorkerScale):
        raise NoAnswerError("the answer is no WorkerScale")
    return found
