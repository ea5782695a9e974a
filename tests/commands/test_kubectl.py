"""`kubectl gpu-scaler …` finds the console script and passes everything on to it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scaler.sim.scenario import LLM
from tests.commands.furnished import Furnished
from tests.commands.situations import queued
from tests.plugin import ROOT, SCRIPT, write_plugin

SECONDS = 120


@pytest.fixture
def kubectl() -> str:
    """The real one; where it is missing that is said, and a failure where it must not be."""
    found = shutil.which("kubectl")
    if found is None and "CI" in os.environ:
        pytest.fail("kubectl is needed to test the plugin")
    if found is None:
        pytest.skip("kubectl is not installed")
    return found


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder with the console script as an installation writes it."""
    return write_plugin(tmp_path / "bin").parent


def run(
    kubectl: str, plugin: Path, *arguments: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Run kubectl with the plugin's folder on its PATH."""
    path = f"{plugin}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [kubectl, *arguments],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_kubectl_lists_it_as_a_plugin(kubectl: str, plugin: Path) -> None:
    """By its name, and without a warning that it can't be run."""
    ended = run(kubectl, plugin, "plugin", "list")
    assert str(plugin / SCRIPT) in ended.stdout
    assert SCRIPT not in ended.stderr


def test_its_usage_shows_the_name_that_it_was_called_by(kubectl: str, plugin: Path) -> None:
    """Examples can be pasted."""
    ended = run(kubectl, plugin, "gpu-scaler", "explain", "--help")
    assert ended.returncode == 0
    assert ended.stdout.startswith("usage: kubectl gpu-scaler explain ")
    assert "  kubectl gpu-scaler explain clusterqueue/research" in ended.stdout


def test_it_explains_by_the_kubeconfig_of_the_environment(
    kubectl: str, plugin: Path, cluster: Furnished
) -> None:
    """With kubectl's own way to a cluster, and the exit code of the decision."""
    queued(cluster)
    ended = run(
        *(kubectl, plugin, "gpu-scaler", "explain", f"so/{LLM[1]}", "-n", LLM[0]),
        KUBECONFIG=str(cluster.kubeconfig),
    )
    assert ended.stdout.startswith(f"{'/'.join(LLM)}  ")
    assert "  to change " in ended.stdout
    assert ended.returncode in (0, 3), ended.stderr


def test_a_refusal_begins_with_the_name_that_it_was_called_by(kubectl: str, plugin: Path) -> None:
    """Exit 2 comes through."""
    ended = run(kubectl, plugin, "gpu-scaler", "explain", "workload/x")
    assert ended.returncode == 2
    assert ended.stderr.startswith("kubectl gpu-scaler: 'workload/x' needs a namespace")
