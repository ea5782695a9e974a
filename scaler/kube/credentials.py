"""Find the way into the cluster, and keep its token fresh."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config.kube_config import KubeConfigMerger

from scaler import log

_READ_AGAIN_AFTER = 60.0
"""Seconds after which a token file is read again; the kubelet rotates tokens on disk."""

_UNUSABLE = (
    ConfigException,
    yaml.YAMLError,
    OSError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)
"""What the `kubernetes` package raises on a broken kubeconfig."""


class NoClusterError(Exception):
    """There is no usable way into a cluster; the message is one sentence."""


class Credentials:
    """The configuration of a cluster, and the authorization header of now."""

    def __init__(
        self,
        load: Callable[[], Configuration],
        *,
        rotates: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load at once; `rotates` says that the token lives in a file that changes."""
        self._load = load
        self._rotates = rotates
        self._clock = clock
        self._lock = threading.Lock()
        self.configuration = load()
        """Address and TLS; those of the start stay."""
        self._current = self.configuration
        self._last: dict[str, str] = {}
        self._loaded_at = clock()

    def header(self) -> dict[str, str]:
        """Give the authorization header, read again from its file when that was a minute ago."""
        with self._lock:
            if self._rotates and self._clock() - self._loaded_at >= _READ_AGAIN_AFTER:
                self._reload_locked()
            return self._header_locked()

    def renew(self, *, refused: Mapping[str, str]) -> dict[str, str]:
        """Read the credentials again after a 401, unless another thread did so meanwhile."""
        with self._lock:
            if self._header_locked() == refused:
                self._reload_locked()
            return self._header_locked()

    def _reload_locked(self) -> None:
        """Load again; what can't be read now (a file in mid-rotation) leaves the old in force."""
        self._loaded_at = self._clock()
        with suppress(NoClusterError):
            self._current = self._load()

    def _header_locked(self) -> dict[str, str]:
        # Asking for the header lets the package renew an expired token, which may fail as well.
        with suppress(*_UNUSABLE):
            self._last = _header(self._current)
        return self._last


def _header(configuration: Configuration) -> dict[str, str]:
    token = configuration.auth_settings().get("BearerToken")
    if token is not None and token["value"]:
        return _hidden(str(token["value"]).strip())
    if configuration.username:
        log.hide(str(configuration.password))
        return _hidden(str(configuration.get_basic_auth_token()))
    return {}


def _hidden(value: str) -> dict[str, str]:
    """Give the header, and see to it that no log line shows what is in it."""
    log.hide(value.rpartition(" ")[2])
    return {"authorization": value}


def find_credentials(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
) -> Credentials:
    """Take the named kubeconfig, else $KUBECONFIG, the pod's service account, ~/.kube/config.

    Raises:
        NoClusterError: none of them is there, or the one that is can't be used.
    """
    named = kubeconfig or environ.get("KUBECONFIG")
    if named:
        return _from_kubeconfig(named, context, clock)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return Credentials(_load_service_account, rotates=True, clock=clock)
    usual = Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"
    if usual.exists():
        return _from_kubeconfig(str(usual), context, clock)
    raise NoClusterError(
        "no Kubernetes cluster: not in a pod, KUBECONFIG is not set and ~/.kube/config does not "
        "exist; `kueue-gpu-scaler demo` needs none"
    )


def _from_kubeconfig(path: str, context: str | None, clock: Callable[[], float]) -> Credentials:
    def load() -> Configuration:
        configuration = Configuration()
        try:
            load_kube_config(  # type: ignore[no-untyped-call]  # the package is typed in part
                config_file=path,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
        except _UNUSABLE as error:
            raise NoClusterError(
                f"cannot use kubeconfig {path}: {error}; `kueue-gpu-scaler demo` needs none"
            ) from error
        return configuration

    return Credentials(load, rotates=_names_token_file(path), clock=clock)


def _names_token_file(path: str) -> bool:
    """Say whether a token file is in use: exec plug-ins renew by themselves, files don't."""
    try:
        files = KubeConfigMerger(path).config_files  # type: ignore[no-untyped-call]  # same
        users = [user for config in files.values() for user in config.get("users") or ()]
        return any("tokenFile" in (user.get("user") or {}) for user in users)
    except _UNUSABLE:
        return False


def _load_service_account() -> Configuration:
    configuration = Configuration()
    try:
        load_incluster_config(  # type: ignore[no-untyped-call]  # same
            client_configuration=configuration
        )
    except _UNUSABLE as error:
        raise NoClusterError(
            f"cannot use the pod's service account: {error}; `kueue-gpu-scaler demo` needs none"
        ) from error
    return configuration
