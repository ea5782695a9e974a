"""A furnished cluster for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.sim.scenario_ray import SIM, furnish_ray
from tests.commands.furnished import NOBODY, Furnished, furnished


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Furnished]:
    """The demo's cluster over real HTTP."""
    with furnished(tmp_path) as one:
        yield one


@pytest.fixture
def ray(tmp_path: Path) -> Iterator[Furnished]:
    """A RayCluster that has rested for long, and a WorkerScale whose size is known."""
    with furnished(tmp_path) as one:
        furnish_ray(one.cluster, scaler_address=NOBODY)
        one.pass_time(120)
        one.cluster.set_load(SIM, percent=0)
        one.pass_time(900)
        yield one
