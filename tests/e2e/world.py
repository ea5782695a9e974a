"""What a scenario is given, and what it is."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.e2e.actuation import Actuation
from tests.e2e.answers import Stub
from tests.e2e.api import Api
from tests.e2e.gpus import Gpus
from tests.e2e.machines import Machines
from tests.e2e.prometheus import Prometheus
from tests.e2e.service import Installation
from tests.e2e.stack import Stack

DISTURBS_KEDA = "disturbs KEDA"
WITHOUT_KEDA = "does without KEDA"
"""Words for `Scenario.later`; these two rows are played beside each other."""
HEAVY = "installations with a load of their own"
"""A word for `Scenario.shares`: two of these at once leave too little CPU for anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One running stack; scenarios share it, each in namespaces and on nodes of its own."""

    api: Api
    """As an administrator."""
    stack: Stack
    gpus: Gpus
    machines: Machines
    scaler: Installation
    """Two replicas of our service behind one address, for scenarios without faults."""
    actuator: Actuation
    """The one that acts for all scenarios but those with one of their own."""
    stub: Stub
    """A scaler that answers what it is told to."""
    prometheus: Prometheus
    """What the scaler and the actuator ask; people watch all of it there too."""
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def namespace(self, name: str) -> str:
        """Create a fresh namespace and give its name."""
        fresh = f"{name}-{next(self._numbers)}"
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fresh}})
        return fresh


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One thing that must happen in the real cluster."""

    id: str
    title: str
    play: Callable[[World], str]
    """Gives what was measured; raises AssertionError where it does not happen."""
    alone: bool = False
    """It disturbs everybody, so nothing else runs beside it."""
    later: str = ""
    """It is played once all others are through, one after the other with those of the same word."""
    shares: str = ""
    """What it uses together with others: these are played one after the other."""
