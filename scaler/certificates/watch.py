"""Poll the files of a port; bad ones are refused whole and the last good ones stay in use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from scaler.certificates.content import Content, read_content
from scaler.certificates.identity import Identity
from scaler.core.model import Instant
from scaler.core.quantity import format_instant
from scaler.core.trigger import Problem
from scaler.settings import CertificateFiles


class Port(StrEnum):
    """Whose certificates they are."""

    GRPC = "grpc"
    STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateState:
    """What is in use, and what is wrong with the files as they are now."""

    identity: Identity
    """The last good one."""
    loaded_at: Instant
    problems: tuple[Problem, ...] = ()
    """Of the files that were refused; empty while what they hold is in use."""


class CertificatesError(ValueError):
    """There are no good certificates to start with."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Certificates:
    """A port's files, read anew at each poll: events of a swapped symlink get lost.

    `state` is replaced whole by the poller's thread and read by others without a lock.
    """

    def __init__(
        self, port: Port, files: CertificateFiles, *, clock: Callable[[], Instant]
    ) -> None:
        """Read the files for the first time.

        Raises:
            CertificatesError: there is none to fall back on; every problem.
        """
        self.port = port
        self._files = files
        self._clock = clock
        self._seen = read_content(files)
        first = self._judged(self._seen)
        if not isinstance(first, Identity):
            raise CertificatesError(first)
        self.state = CertificateState(identity=first, loaded_at=clock())

    @property
    def needs_clients(self) -> bool:
        """Say whether clients are asked for a certificate; it never changes while running."""
        return self._files.client_authorities is not None

    def poll(self) -> CertificateState | None:
        """Read the files; give the state where it changed, None where it did not."""
        content = read_content(self._files)
        # What was refused may become right by the hour alone: it may have come too early.
        if content == self._seen and not self.state.problems:
            return None
        judged, changed = self._judged(content), content != self._seen
        self._seen = content
        return self._taken(judged, changed=changed)

    def details(self) -> Iterator[str]:
        """Say in sentences what is wrong, for /readyz."""
        state, now = self.state, self._clock()
        for problem in state.problems:
            yield f"{self.port} certificates: refused, the last good ones stay in use: {problem}"
        if now >= state.identity.expires:
            ended = format_instant(state.identity.expires)
            yield f"{self.port} certificates: the one in use expired at {ended}, clients refuse it"
        end = state.identity.authorities_expire
        if end is not None and now >= end:
            ended = format_instant(end)
            yield f"{self.port} certificates: the last client authority expired at {ended}"

    def _taken(
        self, judged: Identity | tuple[Problem, ...], *, changed: bool
    ) -> CertificateState | None:
        before = self.state
        if not isinstance(judged, Identity):
            if not changed and judged == before.problems:
                return None
            self.state = replace(before, problems=judged)
        elif judged == before.identity:  # the good ones came back
            self.state = replace(before, problems=())
        else:
            self.state = CertificateState(identity=judged, loaded_at=self._clock())
        return self.state

    def _judged(self, content: Content) -> Identity | tuple[Problem, ...]:
        # Loaded only by those that serve over TLS: it costs memory.
        from scaler.certificates.judge import judge

        return judge(self._files, content, now=self._clock())
