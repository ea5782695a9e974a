"""What must be on this machine beside Go, said before half an hour is spent on a build."""

import shutil
import subprocess

from tests.e2e.front import held_port
from tests.e2e.stack import SERVICE_PORT
from tests.golang import CannotBuildError

TRIED = "127.63.0.1"
"""An address that no run's installation has."""


def needs(platform: str) -> None:
    """Demand all of it.

    Raises:
        CannotBuildError: something is missing.
    """
    if platform != "linux":
        raise CannotBuildError(f"it needs Linux, not {platform}")
    for program in ("openssl", "unshare"):
        if shutil.which(program) is None:
            raise CannotBuildError(f"{program} is not installed")
    own = ["unshare", "-rm", "mount", "-t", "tmpfs", "e2e", "/etc"]
    tried = subprocess.run(own, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise CannotBuildError(f"there is no leave to make namespaces: {tried.stderr.strip()}")
    try:
        held_port(TRIED, SERVICE_PORT).close()
    except OSError as error:
        raise CannotBuildError(f"port {SERVICE_PORT} is taken on all addresses: {error}") from error
