"""Poll the policy's file; a bad one is refused whole and the last good policy stays."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from scaler.core.model import Instant
from scaler.core.policy import Policy
from scaler.core.trigger import Problem
from scaler.policyfile.document import LARGEST_TEXT
from scaler.policyfile.parse import parse_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """The policy in force, and what is wrong with the newest content of its file."""

    policy: Policy
    """The last good one."""
    problems: tuple[Problem, ...] = ()
    """Of the content that was refused; empty while the newest content is in force."""
    loaded_at: Instant = 0.0
    """When the policy in force was read."""
    hot: bool = False
    """The kubelet can swap the file: `..data` is beside it."""
    path: Path | None = None

    @property
    def warning(self) -> str | None:
        """Say why a change of the ConfigMap will not arrive; None where it will."""
        if self.hot or self.path is None:
            return None
        return (
            f"{self.path} has no ..data beside it, as a mounted ConfigMap has: if it is mounted by "
            "subPath it is never updated, and a change needs a restart"
        )


class PolicyError(ValueError):
    """There is no good policy to start with."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class PolicyFile:
    """A policy's file, read anew at each poll: events of a swapped symlink get lost."""

    def __init__(self, path: Path, *, clock: Callable[[], Instant] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._seen: str | tuple[Problem, ...] | None = None
        self._state: PolicyState | None = None

    def poll(self) -> PolicyState | None:
        """Read the file; give the state where it changed, None where it did not.

        Raises:
            PolicyError: the content is bad and no good one came before.
        """
        content = _content(self.path)
        hot = (self.path.parent / "..data").exists()
        if self._state is not None and content == self._seen and hot == self._state.hot:
            return None
        self._seen = content
        parsed = parse_policy(content) if isinstance(content, str) else content
        self._state = self._next(parsed, hot=hot)
        return self._state

    def _next(self, parsed: Policy | tuple[Problem, ...], *, hot: bool) -> PolicyState:
        if isinstance(parsed, Policy):
            return PolicyState(policy=parsed, loaded_at=self._clock(), hot=hot, path=self.path)
        if self._state is None:
            raise PolicyError(parsed)
        return replace(self._state, problems=parsed, hot=hot)


def _content(path: Path) -> str | tuple[Problem, ...]:
    """Read the file's text, or say why it can't be read."""
    try:
        if path.exists() and not path.is_file():  # to open a pipe would be to wait for a writer
            return (
                Problem(
                    path=str(path),
                    value="",
                    allowed="the file can't be read: it must be a regular file",
                ),
            )
        with path.open("rb") as file:
            return file.read(4 * LARGEST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError:
        return (Problem(path=str(path), value="", allowed="the file must be UTF-8 text"),)
    except OSError as error:
        reason = f"the file can't be read: {error.strerror or error}"
        return (Problem(path=str(path), value="", allowed=reason),)
