"""One Lease as the API server keeps it: resourceVersions guard it, and requests can be held up."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scaler.kube.api import JSON, MERGE_PATCH, ApiError, NoAnswerError, Stream


class LeaseApi:
    """Keeps one Lease; creates once, merges patches, refuses stale resourceVersions."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.down = False
        self.swallows = False
        """Writes come through, their answers don't."""
        self.meanwhile: Callable[[], None] | None = None
        """Called while the next write is under way, before it comes in."""
        self.versions = 100
        self.writes = 0

    def get(self, path: str, *, params: Mapping[str, str], accept: str = JSON) -> bytes:
        """Give the Lease."""
        del params, accept
        self._reached()
        if self.lease is None:
            raise ApiError(404, f"{path} not found")
        return json.dumps(self.lease).encode()

    def stream(
        self, path: str, *, params: Mapping[str, str], accept: str = JSON, read_timeout: float
    ) -> Stream:
        """Refuse: a Lease is not watched."""
        raise ApiError(403, f"watch {path} {params} {accept} {read_timeout}")

    def send(self, method: str, path: str, *, body: bytes, content_type: str = JSON) -> bytes:
        """Create or merge."""
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        self._reached()
        sent = json.loads(body)
        if method == "POST":
            assert path.endswith("/leases")
            if self.lease is not None:
                raise ApiError(409, "already exists")
            self.lease = sent
        else:
            assert (method, content_type) == ("PATCH", MERGE_PATCH)
            self._merge(sent)
        self.versions += 1
        self.writes += 1
        assert self.lease is not None
        self.lease["metadata"]["resourceVersion"] = str(self.versions)
        if self.swallows:
            raise NoAnswerError("the answer was lost")
        return json.dumps(self.lease).encode()

    @property
    def spec(self) -> dict[str, Any]:
        """Give the spec of the Lease that there is."""
        assert self.lease is not None
        spec = self.lease["spec"]
        assert isinstance(spec, dict)
        return spec

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Be out of reach for a while."""
        self.down = True
        try:
            yield
        finally:
            self.down = False

    def _reached(self) -> None:
        if self.down:
            raise NoAnswerError("connection refused")

    def _merge(self, sent: dict[str, Any]) -> None:
        if self.lease is None:
            raise ApiError(404, "not found")
        if sent["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise ApiError(409, "the object has been modified")
        self.lease["spec"] |= sent["spec"]
