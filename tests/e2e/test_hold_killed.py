"""The harness that kills an actuator hears what is wrong, whatever comes too late besides."""

import json
from collections.abc import Callable
from typing import Self, cast

import pytest

from tests.e2e.actuation import Actuation
from tests.e2e.reverse import Write
from tests.e2e.scenarios.hold_killed import Deadly, step_of
from tests.e2e.waiting import NeverCameError, gravest, until

PATH = "/apis/kueue-gpu-scaler.dev/v1alpha1/namespaces/ml/workerscales/ws/status"


def write(**body: object) -> Write:
    """Build a patch that went through."""
    return Write(method="PATCH", path=PATH, body=json.dumps(body).encode(), status=200)


class Own:
    """An actuator in the parts that are killed, heard and started again."""

    def __init__(self) -> None:
        self.heard: Callable[[Write], None] = lambda _: None
        self.runs = True
        self.kills = 0

    @property
    def gate(self) -> Self:
        """Give where its writes are heard."""
        return self

    @property
    def replica(self) -> Self:
        """Give its process."""
        return self

    @property
    def program(self) -> Self:
        """Give what runs."""
        return self

    def kill(self) -> None:
        """End."""
        self.kills += 1
        self.runs = False

    def again(self) -> None:
        """Run again."""
        self.runs = True


def deadly(own: Own, look: Callable[[], str]) -> Deadly:
    """Kill it after each write, and look."""
    return Deadly(cast("Actuation", own), look)


def revived(own: Own) -> None:
    """Wait until it runs again."""
    until(lambda: own.runs, "it runs again", within=10.0)


def test_what_is_wrong_is_heard_though_something_came_late() -> None:
    """A target that is left wrong is often what the lateness comes from: it has no second try."""

    def play() -> None:
        own = Own()
        with deadly(own, lambda: "taken, and nothing recorded"):
            own.heard(write(status={"state": "Holding"}))
            raise NeverCameError("Held")

    with pytest.raises(AssertionError, match="taken, and nothing recorded") as raised:
        play()
    assert gravest(raised.value) is raised.value


@pytest.mark.parametrize("error", [KeyError("spec"), ConnectionError("refused")])
def test_a_look_that_fails_is_no_good_look(error: Exception) -> None:
    """Nor does the actuator stay dead for it; who asks the API server in between tells nothing."""
    own = Own()

    def look() -> str:
        raise error

    def play() -> None:
        with deadly(own, look):
            own.heard(write(status={"state": "Holding"}))
            revived(own)

    with pytest.raises(type(error)):
        play()
    assert own.kills == 1


def test_it_is_killed_once_for_each_step() -> None:
    """Words alone, and another resourceVersion, are no step of their own."""
    own = Own()
    with deadly(own, lambda: ""):
        for message in ("a", "b"):
            own.heard(write(status={"state": "Held", "message": message}))
            revived(own)
        own.heard(write(status={"state": "Held", "hold": {"takenAt": "now"}}))
        revived(own)
    assert own.kills == 2
    one, other = (write(metadata={"resourceVersion": each, "finalizers": []}) for each in "12")
    assert step_of(one) == step_of(other)
