"""Cases are explained below a test's own folder, or met by a running service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.explained import Ran
from tests.cases.frame import Case, Run, run
from tests.cases.service import Serve, serving
from tests.cases.world import World


@pytest.fixture
def explain(tmp_path: Path) -> Run:
    """Give the way to explain a case."""

    def explained(case: Case) -> Ran:
        return run(case, tmp_path)

    return explained


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Run a Kubernetes API and a Prometheus, empty both."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def serve(world: World) -> Iterator[Serve]:
    """Give the way to start the service; it is stopped after the test."""
    with serving(world) as start:
        yield start
