"""What serve and actuate have in common knows in which version each kind is served."""

from pathlib import Path

from scaler.core.model import Kind
from scaler.deciding import ServedVersions
from tests.kube.bench import Bench
from tests.kube.loopback import running


def test_a_version_is_known_once_it_was_discovered(tmp_path: Path) -> None:
    """Until then whoever writes takes the table's first."""
    with running() as server:
        bench = Bench(server, tmp_path)
        versions = ServedVersions({Kind.WORKLOADS: bench.reflector})
        assert dict(versions) == {}
        assert versions.get(Kind.WORKLOADS, "v1beta2") == "v1beta2"
        bench.turn()
        assert dict(versions) == {Kind.WORKLOADS: bench.reflector.served_version}
        assert len(versions) == 1
        bench.api.close()
