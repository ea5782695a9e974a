"""A Prometheus double over a real socket, and a source that asks it."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scaler.prometheus.source import PrometheusSource
from scaler.sim.prometheus import PrometheusServer
from scaler.sim.samples import SampleStore
from tests.prometheus.fleet import NOW


@pytest.fixture
def prometheus() -> Iterator[PrometheusServer]:
    """A running double whose clock stands still."""
    with PrometheusServer(SampleStore(), clock=lambda: NOW) as server:
        yield server


@pytest.fixture
def source() -> Iterator[PrometheusSource]:
    """A source whose clock stands still."""
    source = PrometheusSource(clock=lambda: NOW)
    yield source
    source.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A certificate authority's bundle, and a server's context with a certificate from it."""

    bundle: Path
    server: ssl.SSLContext


@pytest.fixture(scope="session")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    """Two private authorities that don't know each other."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is not there to make certificates")
    folder = tmp_path_factory.mktemp("certificates")
    return _authority(folder / "one"), _authority(folder / "two")


def _authority(folder: Path) -> Authority:
    folder.mkdir()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    # fmt: off
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "30",
             "-subj", f"/CN=authority {folder.name}",
             "-addext", "keyUsage=critical,keyCertSign")
    _openssl(folder, "req", *key, "-keyout", "server.key", "-out", "server.csr",
             "-subj", "/CN=127.0.0.1")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    _openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
             "-CAcreateserial", "-out", "server.crt", "-days", "30", "-extfile", "names")
    # fmt: on
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return Authority(bundle=folder / "ca.crt", server=context)


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
