"""The command `actuate` in a process of its own."""

import subprocess
import sys
from pathlib import Path

import scaler
from scaler.sim.kinds import LEASES
from tests.cases.client import PATIENCE, until
from tests.commands.furnished import Furnished


def test_sigterm_gives_the_lease_back_and_ends_with_0(cluster: Furnished) -> None:
    """A rollout waits for nobody."""
    arguments = (
        "actuate",
        "--policy",
        str(cluster.policy),
        "--kubeconfig",
        str(cluster.kubeconfig),
        "--status",
        "127.0.0.1:0",
        "--lease-namespace",
        "scaling",
        "--lease-name",
        "actuator",
    )

    def holder() -> str | None:
        lease = cluster.cluster.objects.get(LEASES, ("scaling", "actuator"))
        return None if lease is None else str(lease["spec"]["holderIdentity"])

    with subprocess.Popen(
        [sys.executable, "-m", "scaler", *arguments],
        cwd=Path(scaler.__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("actuating, status on http://127.0.0.1:")
        until(lambda: bool(holder()), seen=holder)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert holder() == ""
