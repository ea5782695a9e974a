"""The command `serve` in a process of its own: how it ends, and what it refuses at the start."""

import os
import subprocess
from pathlib import Path

import grpc
import pytest

import scaler
from scaler.core.model import Kind
from scaler.sim.prometheus import Fault
from tests.cases import written
from tests.cases.client import HOLD_AT_ZERO, PATIENCE, until, value
from tests.cases.frame import GPUS
from tests.cases.process import command, environment, running
from tests.cases.world import World

HANG = 3600.0
"""Longer than any test lasts."""


def test_sigterm_ends_streams_with_ok_and_the_process_with_0_while_all_sources_hang(
    world: World,
) -> None:
    """No thread that waits for an answer keeps the process, and KEDA is told to come back soon."""
    # What waits in a queue is as true by the real clock as by that of the samples.
    world.add_queue()
    world.add_scaled("gpus", metadata=GPUS, replicas=1)
    world.add(Kind.WORKLOADS, written.workload("a"))
    log = world.folder / "log"
    with running(policy=world.policy.path, kubeconfig=world.kubeconfig(), log=log) as process:
        process.until("gpus", GPUS, value(1))
        stream = process.push("gpus", GPUS)
        until(lambda: stream.results == [True])
        world.api.faults.silent = True
        world.api.faults.list_delay = HANG
        world.prometheus.fault = Fault.SLOW
        assert process.terminate() == 0
        until(lambda: stream.code is not None)
        assert stream.code is grpc.StatusCode.OK
    assert "Traceback" not in log.read_text()


def test_while_no_list_was_ever_answered_it_holds_is_not_ready_and_ends_with_0(
    world: World,
) -> None:
    """The ports are open before the sources answer: HOLD is better than no endpoint at all."""
    idle = world.add_running("a", percent=60.0)
    world.api.faults.list_delay = HANG
    log = world.folder / "log"
    with running(policy=world.policy.path, kubeconfig=world.kubeconfig(), log=log) as process:
        assert process.poll("a", idle) == HOLD_AT_ZERO
        ready, details = process.ready()
        assert not ready
        assert "scaledobjects" in details
        assert process.get("/healthz")[0] == 200
        assert process.terminate() == 0
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize("content", ["defaults: {idleAfter: [", "defaults: {idleAfter: abc}", ""])
def test_a10_a_policy_that_is_broken_at_the_start_ends_the_process(
    world: World, content: str
) -> None:
    """A10: exit code 2 and the reason; no default is taken for what can't be read."""
    world.policy.write(content)
    done = subprocess.run(
        command(policy=world.policy.path, kubeconfig=world.kubeconfig()),
        env=environment(),
        cwd=Path(scaler.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert str(world.policy.path) in done.stderr
    assert "serving" not in done.stdout
    assert "Traceback" not in done.stderr


def test_sigterm_ends_a_process_that_has_not_started_yet(world: World) -> None:
    """It is caught where it reads its policy, before the loop takes signals: a pipe holds it up."""
    pipe = world.folder / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command(policy=pipe, kubeconfig=world.kubeconfig()),
        env=environment(),
        cwd=Path(scaler.__file__).parents[1],
        stderr=subprocess.PIPE,
    )
    with pipe.open("w"):  # waits for the reader
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert errors == b""
