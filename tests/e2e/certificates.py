"""Keys and certificates of one run, made by openssl: two authorities, valid for a day."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

KEDA_METRICS = "keda-metrics-apiserver.keda.svc"
"""The name that the API server demands of KEDA's metrics adapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Where a run's keys and certificates are."""

    folder: Path

    @property
    def authority(self) -> Path:
        """Give the certificate that every server's certificate is signed with."""
        return self.folder / "ca.crt"

    @property
    def front_authority(self) -> Path:
        """Give the certificate for the API server as a client of aggregated APIs."""
        return self.folder / "front-ca.crt"

    @property
    def servers(self) -> Path:
        """Give the folder of `ca.crt`, `tls.crt` and `tls.key`, good for both ends."""
        return self.folder

    def path(self, name: str) -> Path:
        """Give the path of a file by name."""
        return self.folder / name


def make_certificates(folder: Path) -> Certificates:
    """Write all that the programs need into an empty folder.

    Raises:
        subprocess.CalledProcessError: openssl refused.
    """
    folder.mkdir(parents=True)
    _authority(folder, "ca")
    _authority(folder, "front-ca")
    names = ("localhost", "kubernetes.default.svc", KEDA_METRICS)
    alternatives = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
    _pair(folder, "tls", "ca", name="localhost", alternatives=alternatives)
    _pair(folder, "front", "front-ca", name="front-proxy-client")
    _openssl(folder, "genrsa", "-out", "sa.key", "2048")
    _openssl(folder, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    return Certificates(folder=folder)


def _authority(folder: Path, name: str) -> None:
    _openssl(
        folder,
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-days", "1", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"),
    )


def _pair(folder: Path, file: str, authority: str, *, name: str, alternatives: str = "") -> None:
    """Make a key and a certificate, signed by an authority of this folder."""
    extensions = "extendedKeyUsage=serverAuth,clientAuth\n"
    extensions += f"subjectAltName={alternatives}\n" if alternatives else ""
    (folder / f"{file}.ext").write_text(extensions)
    _openssl(
        folder,
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr"),
    )
    _openssl(
        folder,
        *("x509", "-req", "-in", f"{file}.csr", "-CA", f"{authority}.crt"),
        *("-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "1"),
        *("-extfile", f"{file}.ext", "-out", f"{file}.crt"),
    )


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
