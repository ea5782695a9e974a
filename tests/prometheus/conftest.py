"""A Prometheus double over a real socket, and a source that asks it."""

from collections.abc import Iterator

import pytest

from scaler.prometheus.source import PrometheusSource
from scaler.sim.prometheus import PrometheusServer
from scaler.sim.samples import SampleStore
from tests.authorities import Authority, make_authority
from tests.prometheus.fleet import NOW


@pytest.fixture
def prometheus() -> Iterator[PrometheusServer]:
    """A running double whose clock stands still."""
    with PrometheusServer(SampleStore(), clock=lambda: NOW) as server:
        yield server


@pytest.fixture
def source() -> Iterator[PrometheusSource]:
    """A source whose clock stands still."""
    source = PrometheusSource(clock=lambda: NOW)
    yield source
    source.close()


@pytest.fixture(scope="session")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    """Two private authorities that don't know each other."""
    folder = tmp_path_factory.mktemp("certificates")
    return make_authority(folder / "one"), make_authority(folder / "two")
