"""The flags of certificates belong together, and bad files are no start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import scaler
from tests.commands.furnished import Furnished
from tests.issuer import Issuer, Mounted, now

AUTHORITY = Issuer(name="authority")


def refused(*arguments: str, home: Path) -> list[str]:
    """Run a command that does not start; give the lines that it says."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    done = subprocess.run(
        [sys.executable, "-m", "scaler", *arguments],
        env={**clean, "HOME": str(home)},
        cwd=Path(scaler.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()


def test_flags_that_need_others_name_them_all(tmp_path: Path) -> None:
    """Both ports at once, before anything is read."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("{}")
    flags = ("--grpc-cert=a", "--grpc-client-ca=b", "--status-key=c")
    lines = refused("serve", f"--policy={policy}", *flags, home=tmp_path)
    assert lines == [
        "kueue-gpu-scaler: --grpc-cert and --grpc-client-ca need --grpc-key FILE too",
        "--status-key needs --status-cert FILE too",
    ]


@pytest.mark.parametrize("command", ["serve", "actuate"])
def test_bad_files_at_the_start_are_named_with_every_problem(
    command: str, tmp_path: Path, cluster: Furnished
) -> None:
    """Exit code 2: file, what is wrong, what is allowed; no port was opened."""
    mounted = Mounted(tmp_path)
    late = AUTHORITY.issue("server", ends=now() - 60)
    mounted.put({"tls.crt": late.certificate, "tls.key": b"", "ca.crt": late.certificate})
    own = {"serve": ["--grpc=127.0.0.1:0"], "actuate": ["--lease-namespace=x"]}
    files = mounted.files
    lines = refused(
        command,
        *own[command],
        f"--policy={cluster.policy}",
        f"--kubeconfig={cluster.kubeconfig}",
        "--status=127.0.0.1:0",
        f"--status-cert={files.certificate}",
        f"--status-key={files.key}",
        f"--status-client-ca={files.client_authorities}",
        home=tmp_path,
    )
    assert lines[0] == "kueue-gpu-scaler: no good certificates:"
    said = "\n".join(lines[1:])
    assert len(lines) == 4
    assert f"{files.certificate}: it expired at " in said
    assert f"{files.key}: it is empty; one PEM private key" in said
    assert f"{files.client_authorities}: 'CN=server' is no authority" in said
