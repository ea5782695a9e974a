"""Certificates for tests, made in memory, and mounted as the kubelet mounts a Secret."""

import ipaddress
import itertools
import ssl
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from scaler.settings import CertificateFiles

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
NAMES = ("localhost", "127.0.0.1")
DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its key, PEM both."""

    certificate: bytes
    key: bytes
    serial: str
    """As openssl prints it."""
    ends: float


@dataclass(slots=True, kw_only=True)
class Issuer:
    """An authority that signs what it is asked to."""

    name: str
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    ends: float = field(default_factory=lambda: now() + 9 * DAY)
    pem: bytes = field(init=False)
    """Its certificate."""

    def __post_init__(self) -> None:
        built = _builder(self.name, self.name, self.key, self.ends - 30 * DAY, self.ends)
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = built.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def issue(
        self,
        name: str,
        *,
        key: Key | None = None,
        starts: float | None = None,
        ends: float | None = None,
        names: Sequence[str] = NAMES,
        usage: Sequence[ObjectIdentifier] = (SERVER, CLIENT),
        odd: x509.ExtensionType | None = None,
        password: bytes | None = None,
    ) -> Pair:
        """Sign a certificate, by default for a server and a client of this machine."""
        own = key or ec.generate_private_key(ec.SECP256R1())
        begin = now() - DAY if starts is None else starts
        end = now() + 5 * DAY if ends is None else ends
        built = _builder(name, self.name, own, begin, end)
        if names:
            built = built.add_extension(x509.SubjectAlternativeName(_names(names)), critical=False)
        if usage:
            built = built.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        if odd is not None:
            built = built.add_extension(odd, critical=False)
        made = built.sign(self.key, hashes.SHA256())
        hidden = BestAvailableEncryption(password) if password else NoEncryption()
        return Pair(
            certificate=made.public_bytes(Encoding.PEM),
            key=own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden),
            serial=f"{made.serial_number:X}",
            ends=made.not_valid_after_utc.timestamp(),
        )


@dataclass(slots=True)
class Mounted:
    """A Secret's mount: each swap is a new folder to which `..data` is turned in one step."""

    folder: Path
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def files(self) -> CertificateFiles:
        """Give where the files are, the authorities of clients among them."""
        return CertificateFiles(
            certificate=self.folder / "tls.crt",
            key=self.folder / "tls.key",
            client_authorities=self.folder / "ca.crt",
        )

    @property
    def open_files(self) -> CertificateFiles:
        """Give where the files are of a port that asks no client for a certificate."""
        return CertificateFiles(certificate=self.folder / "tls.crt", key=self.folder / "tls.key")

    def swap(self, pair: Pair, *authorities: Issuer) -> None:
        """Put others in their place."""
        bundle = b"".join(each.pem for each in authorities)
        self.put({"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": bundle})

    def put(self, contents: Mapping[str, bytes]) -> None:
        """Put these contents in place."""
        fresh = self.folder / f"..{next(self._numbers)}"
        fresh.mkdir(parents=True)
        for name, content in contents.items():
            (fresh / name).write_bytes(content)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(Path("..data") / name)
        pointer = self.folder / "..data_tmp"
        pointer.symlink_to(fresh.name)
        pointer.replace(self.folder / "..data")


def client_context(trusted: Issuer, pair: Pair | None = None) -> ssl.SSLContext:
    """Give a client's context, with a certificate where it has one."""
    context = ssl.create_default_context(cadata=trusted.pem.decode())
    if pair is not None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(pair.certificate + pair.key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def only_1_1(context: ssl.SSLContext) -> ssl.SSLContext:
    """Have a context speak TLS 1.1 alone, which OpenSSL does at its lowest level of security."""
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it is deprecated, and to be refused
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def now() -> float:
    """Give the time in whole seconds, as certificates have it."""
    return float(int(datetime.now(UTC).timestamp()))


def _builder(
    name: str, issuer: str, key: Key, starts: float, ends: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(starts, UTC))
        .not_valid_after(datetime.fromtimestamp(ends, UTC))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _names(names: Sequence[str]) -> list[x509.GeneralName]:
    return [_address(each) or x509.DNSName(each) for each in names]


def _address(text: str) -> x509.IPAddress | None:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return None
