"""The command line: help, exit codes, and refusals of one sentence."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import scaler

COMMANDS = ("serve", "actuate", "demo", "explain", "check", "capture")
HEAVY = ("grpc", "kubernetes", "requests", "prometheus_client", "msgspec", "yaml", "structlog")


def run(*arguments: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does, without any cluster of the machine's."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KUBE", "KUBERNETES_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "scaler", *arguments],
        env={**clean, "HOME": str(home), "COLUMNS": "100", **environ},
        cwd=Path(scaler.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def kubeconfig(folder: Path, *, server: str = "http://127.0.0.1:9") -> str:
    """Write a kubeconfig; nothing listens on port 9."""
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def policy(folder: Path) -> str:
    """Write a policy without any setting."""
    path = folder / "policy.yaml"
    path.write_text("{}\n", encoding="utf-8")
    return str(path)


def test_help_names_every_command(tmp_path: Path) -> None:
    """The first page leads on, with an example."""
    done = run("--help", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n    {command} " in done.stdout for command in COMMANDS)
    assert "examples:\n  kueue-gpu-scaler demo\n" in done.stdout


@pytest.mark.parametrize("words", [(), ("serve",), ("actuate",)])
def test_version(words: tuple[str, ...], tmp_path: Path) -> None:
    """The version is the package's, asked of a command too, as a container has one already."""
    done = run(*words, "--version", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"kueue-gpu-scaler {scaler.__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command: str, tmp_path: Path) -> None:
    """The example is the command itself, ready to be changed."""
    done = run(command, "--help", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    _, _, examples = done.stdout.partition("\nexamples:\n")
    assert examples
    assert all(line.startswith(f"  kueue-gpu-scaler {command}") for line in examples.splitlines())


def test_help_imports_only_what_the_parser_needs() -> None:
    """Nothing that connects, decodes or serves is loaded before a command runs."""
    code = (
        f"import sys, scaler.cli as c; c.parser(); print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(scaler.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [(), ("frobnicate",), ("explain", "--frobnicate")])
def test_usage_errors_exit_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """The parser's own refusals have the exit code of bad input."""
    done = run(*arguments, home=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "usage: kueue-gpu-scaler" in done.stderr


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Check that a command refused in one sentence, and give that."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    *before, last = done.stderr.splitlines()
    assert last.startswith("kueue-gpu-scaler: ")
    assert not any(line.startswith(("Traceback", "kueue-gpu-scaler")) for line in before), before
    return last.removeprefix("kueue-gpu-scaler: ")


LIVE = [
    ("serve",),
    ("actuate", "--lease-namespace", "scaling"),
    ("explain", "ml/llm"),
    ("explain", "workerscale/ml/llm"),
    ("capture", "D", "ml/a"),
]


@pytest.mark.parametrize("arguments", LIVE)
def test_without_a_cluster_the_refusal_names_the_demo(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Whoever has no cluster is told what works without one."""
    here = [str(tmp_path / "D") if each == "D" else each for each in arguments]
    done = run(*here, "--policy", policy(tmp_path), home=tmp_path)
    assert "`kueue-gpu-scaler demo`" in refused(done)
    assert not (tmp_path / "D").exists()


@pytest.mark.parametrize("arguments", LIVE)
def test_an_unreadable_policy_is_one_sentence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """A policy that is named has to be there."""
    done = run(*arguments, "--policy", str(tmp_path / "none.yaml"), home=tmp_path)
    assert refused(done).endswith("none.yaml can't be read: No such file or directory")


def test_every_problem_of_a_bad_policy_is_told(tmp_path: Path) -> None:
    """A policy is refused whole, with all that is wrong with it."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("defaults: {idleAfter: soon, frobnicate: 1}\n", encoding="utf-8")
    done = run("explain", "ml/llm", "--policy", str(bad), home=tmp_path)
    assert done.returncode == 2
    assert "defaults.idleAfter" in done.stderr
    assert "defaults.frobnicate" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreadable_kubeconfig_is_one_sentence(tmp_path: Path) -> None:
    """The file is named, and the demo."""
    none = str(tmp_path / "none")
    done = run("explain", "a/b", "--kubeconfig", none, "--policy", policy(tmp_path), home=tmp_path)
    assert f"cannot use kubeconfig {none}" in refused(done)


def test_an_api_server_that_is_out_of_reach_is_one_sentence(tmp_path: Path) -> None:
    """Nothing can be decided without the ScaledObject."""
    config = kubeconfig(tmp_path)
    done = run(
        "explain", "a/b", "--kubeconfig", config, "--policy", policy(tmp_path), home=tmp_path
    )
    said = refused(done)
    assert said.startswith("ScaledObjects can't be read: ")
    assert "Connection refused" in said


def test_a_missing_policy_is_said_and_defaults_are_taken(tmp_path: Path) -> None:
    """Without --policy and without the pod's own, the built-in defaults decide."""
    done = run("explain", "a/b", "--kubeconfig", kubeconfig(tmp_path), home=tmp_path)
    assert done.returncode == 2
    assert "deciding by the built-in defaults" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("which", ["--grpc", "--status"])
def test_a_port_in_use_is_one_sentence(which: str, tmp_path: Path) -> None:
    """The address that is taken is named, and nothing has begun to serve."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ports = {"--grpc": "127.0.0.1:0", "--status": "127.0.0.1:0", which: address}
        more = [part for pair in ports.items() for part in pair]
        config = kubeconfig(tmp_path)
        done = run(
            "serve", "--policy", policy(tmp_path), "--kubeconfig", config, *more, home=tmp_path
        )
    assert address in refused(done)


@pytest.mark.parametrize(
    ("text", "said"),
    [("x", "'x' is no address"), ("127.0.0.1:99999", "a port of 0-65535")],
)
def test_a_malformed_address_says_what_is_allowed(text: str, said: str, tmp_path: Path) -> None:
    """An address is judged before anything else."""
    done = run("serve", "--grpc", text, home=tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("arguments", [("check", "--schema"), ("check", "POLICY"), ("--help",)])
def test_a_reader_that_leaves_is_no_error(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """`kueue-gpu-scaler ... | head -1` ends quietly, be the output long or short."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = written_to(writer, *arguments, home=tmp_path)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("check", "--schema"), ("check", "POLICY")])
def test_a_full_disk_is_one_sentence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """`kueue-gpu-scaler ... > file` must not end like one that wrote all of it."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = written_to(full.fileno(), *arguments, home=tmp_path)
    said = "kueue-gpu-scaler: the output can't be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


def written_to(file: int, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command, its output going to an open file."""
    named = policy(home)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "scaler",
            *(named if one == "POLICY" else one for one in arguments),
        ],
        env={**os.environ, "HOME": str(home)},
        cwd=Path(scaler.__file__).parents[1],
        stdout=file,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


def test_actuate_outside_a_pod_asks_where_its_lease_is(tmp_path: Path) -> None:
    """In a pod the Lease is in its own namespace."""
    done = run("actuate", "--policy", policy(tmp_path), home=tmp_path, POD_NAMESPACE="")
    assert refused(done) == "outside a pod actuate needs --lease-namespace NAMESPACE"
