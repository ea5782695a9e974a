"""`serve` in a process of its own, as a pod runs it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import scaler
from tests.cases.client import PATIENCE, Client

ADDRESSES = re.compile(r"serving gRPC on (?P<grpc>\S+), status on http://(?P<status>[^/]+)/")


def command(*, policy: Path, kubeconfig: str) -> list[str]:
    """Give the command line, on any free ports."""
    address = "127.0.0.1:0"
    return [
        *(sys.executable, "-m", "scaler", "serve", "--policy", str(policy)),
        *("--kubeconfig", kubeconfig, "--grpc", address, "--status", address),
    ]


def environment() -> dict[str, str]:
    """Give the environment without any cluster of the machine's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}


class Process(Client):
    """A running `serve`, and a client of it."""

    def __init__(self, *, policy: Path, kubeconfig: str, log: Path) -> None:
        self.log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                command(policy=policy, kubeconfig=kubeconfig),
                env=environment(),
                cwd=Path(scaler.__file__).parents[1],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout is not None
        found = ADDRESSES.match(self._process.stdout.readline())
        assert found is not None, log.read_text()
        super().__init__(grpc_address=found["grpc"], status_address=found["status"])

    def terminate(self) -> int:
        """Send SIGTERM, and give the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """End it by force where it still runs."""
        super().close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


@contextmanager
def running(*, policy: Path, kubeconfig: str, log: Path) -> Iterator[Process]:
    """Run the command for the length of a test."""
    process = Process(policy=policy, kubeconfig=kubeconfig, log=log)
    try:
        yield process
    finally:
        process.close()
