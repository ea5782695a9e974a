"""Private certificate authorities, each with a server's certificate for 127.0.0.1."""

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A certificate authority's bundle, and a server's context with a certificate from it."""

    bundle: Path
    server: ssl.SSLContext


def make_authority(folder: Path) -> Authority:
    """Make one in a new folder; skips the test where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is not there to make certificates")
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
