"""Install what the image installs, without an index, and run it as the image's user would.

No container engine is needed: a root of bind mounts, all read-only, has the system's libraries,
this Python and the environment, and nothing else.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import scaler
from tests.golang import BUILT, ROOT
from tests.report import Report

LOCK = ROOT / "requirements" / "runtime.txt"
WHEELS = BUILT / "peers" / "wheels"
USER = 65532
"""The image's; no passwd names it."""
OFFLINE = ("--isolated", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--quiet")
ENTER = r"""
set -e
root=$1; shift
mount --bind "$root" "$root"
for folder in /usr "$PYTHON" "$INSTALLED"; do
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
    mount -o remount,bind,ro "$root$folder"
done
for folder in bin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --no-new-privs --bounding-set=-all --inh-caps=-all $AS "$@"
"""
IMPORT_ALL = """
import importlib, pkgutil, scaler
found = [each.name for each in pkgutil.walk_packages(scaler.__path__, "scaler.")]
for name in found:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(found))
"""
WRITE = """
import os, sys
print(os.getuid())
for folder in (sys.prefix, "/", "/usr", os.path.dirname(os.__file__)):
    try:
        open(os.path.join(folder, "written"), "w")
    except OSError:
        continue
    print(folder)
"""


def run(report: Report) -> None:
    """Build, install, and start it."""
    missing = [each for each in ("unshare", "setpriv", "chroot") if shutil.which(each) is None]
    if missing:
        report.skip("the wheel", why=f"{', '.join(missing)} not installed")
        return
    try:
        wheels = _collected()
    except subprocess.CalledProcessError as error:
        report.skip("the wheel", why=f"its dependencies can't be fetched: {error.stderr[-300:]}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        _try(report, folder, wheels)


def _try(report: Report, folder: Path, wheels: Path) -> None:
    try:
        environment = _installed(folder, wheels)
    except subprocess.CalledProcessError as error:
        report.check("the wheel installs without an index", ok=False, found=error.stderr[-1500:])
        return
    report.check("the wheel installs without an index, by the lock's hashes", ok=True)
    command = str(environment / "bin" / "kueue-gpu-scaler")
    python = str(environment / "bin" / "python")
    for words in (("--version",), ("serve", "--version")):
        done = _confined(folder, environment, [command, *words])
        want = f"kueue-gpu-scaler {scaler.__version__}\n"
        title = f"`{' '.join(words)}` runs without rights on a read-only root"
        report.check(title, ok=done.stdout == want, found=done)
    done = _confined(folder, environment, [python, "-I", "-c", IMPORT_ALL])
    modules = int(done.stdout or 0)
    title = "every module finds what it imports in the lock"
    report.check(title, ok=modules > 100, found=done, measured=f"{modules} modules")
    done = _confined(folder, environment, [python, "-I", "-c", WRITE])
    want = f"{USER if os.geteuid() == 0 else 0}\n"  # of its own namespace, where it may do nothing
    report.check("it has no place to write to", ok=done.stdout == want, found=done)


def _collected() -> Path:
    """Give a folder with the wheels of the lock, fetched where they are not there yet.

    Raises:
        subprocess.CalledProcessError: they can't be had, or have other hashes.
    """
    into = WHEELS / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    if not into.is_dir():
        shutil.rmtree(WHEELS, ignore_errors=True)
        partly = WHEELS / "partly"
        words = ("--only-binary=:all:", "--require-hashes", f"--dest={partly}", f"-r{LOCK}")
        _pip("download", "--quiet", *words)
        partly.rename(into)
    return into


def _installed(folder: Path, wheels: Path) -> Path:
    """Make an empty environment, without pip, and install the lock and our wheel into it."""
    environment, built = folder / "environment", folder / "built"
    _pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={built}", str(ROOT))
    (wheel,) = built.glob("*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    into = f"--python={environment / 'bin' / 'python'}"
    locked = ("--require-hashes", f"--find-links={wheels}", f"-r{LOCK}")
    _pip(into, "install", *OFFLINE, *locked)
    _pip(into, "install", *OFFLINE, "--no-deps", str(wheel))
    _pip(into, "check")
    return environment


def _confined(
    folder: Path, environment: Path, command: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run a command in a root of its own, without capabilities.

    As root it becomes another user; any other user stays what it is.
    """
    privileged = os.geteuid() == 0
    root = Path(tempfile.mkdtemp(dir=folder))
    root.chmod(0o755)
    apart = ["unshare", "--mount", *(() if privileged else ("--user", "--map-root-user"))]
    become = f"--reuid={USER} --regid={USER} --clear-groups" if privileged else ""
    return subprocess.run(
        [*apart, "sh", "-c", ENTER, "enter", str(root), *command],
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHON": sys.base_prefix,
            "INSTALLED": str(environment),
            "AS": become,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def _pip(*words: str) -> None:
    _run([sys.executable, "-m", "pip", *words])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True)
