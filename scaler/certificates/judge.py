"""Judge the files of a port: an Identity that works, or every problem with them."""

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from scaler.certificates.content import Content, said
from scaler.certificates.identity import Identity, server_context
from scaler.core.model import Instant
from scaler.core.quantity import format_instant
from scaler.core.trigger import Problem
from scaler.settings import CertificateFiles

SMALLEST_RSA: Final = 2048
CURVES: Final = frozenset({"secp256r1", "secp384r1", "secp521r1"})
KEYS: Final = (
    f"RSA with {SMALLEST_RSA} bits or more, ECDSA on P-256, P-384 or P-521, and Ed25519 are allowed"
)
_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_UNREADABLE: Final = (
    ValueError,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    UnsupportedAlgorithm,
)
"""What `cryptography` raises, first where a part is looked at, for a certificate it can't read."""


def judge(
    files: CertificateFiles, content: Content, *, now: Instant
) -> Identity | tuple[Problem, ...]:
    """Take the files whole or not at all."""
    certificate, key = content.certificate, content.key
    authorities = content.client_authorities
    problems = list(content.problems)
    chain: tuple[x509.Certificate, ...] = ()
    trusted: tuple[x509.Certificate, ...] = ()
    if isinstance(certificate, bytes):
        chain = _certificates(files.certificate, certificate, problems)
    if isinstance(authorities, bytes) and files.client_authorities is not None:
        trusted = _certificates(files.client_authorities, authorities, problems)
        problems += _of_authorities(files.client_authorities, trusted, now)
    if chain:
        problems += _of_server(files.certificate, chain[0], now)
    if isinstance(key, bytes):
        problems += _of_key(files, key, chain)
    if problems or isinstance(certificate, Problem) or isinstance(key, Problem):
        return tuple(problems)
    return _identity(files, certificate, key, (chain[0], trusted))


def _identity(
    files: CertificateFiles,
    certificate: bytes,
    key: bytes,
    parsed: tuple[x509.Certificate, tuple[x509.Certificate, ...]],
) -> Identity | tuple[Problem, ...]:
    leaf, trusted = parsed
    # As they were read: beside them a bundle has words in any encoding, and Python takes ASCII.
    roots = b"".join(each.public_bytes(Encoding.PEM) for each in trusted) if trusted else None
    try:
        context = server_context(certificate=certificate, key=key, client_authorities=roots)
    except ssl.SSLError as error:
        return (said(files.certificate, f"OpenSSL refuses it: {error.reason or error}"),)
    except OSError as error:
        return (said(files.certificate, f"it can't be loaded: {error.strerror or error}"),)
    return Identity(
        certificate=certificate,
        key=key,
        client_authorities=roots,
        serial=f"{leaf.serial_number:X}",
        expires=_end(leaf),
        authorities_expire=max(map(_end, trusted), default=None),
        context=context,
    )


def _certificates(
    path: Path, content: bytes, problems: list[Problem]
) -> tuple[x509.Certificate, ...]:
    """Read PEM certificates; a block that is cut off is a problem, not one certificate less."""
    try:
        found = tuple(x509.load_pem_x509_certificates(content))
        for each in found:
            _ = each.extensions, each.subject, each.issuer
    except _UNREADABLE:
        found = ()
    if not found or len(found) != content.count(_BEGIN):
        what = "it is empty" if not content.strip() else "it is broken or cut off"
        problems.append(said(path, f"{what}; PEM certificates (BEGIN CERTIFICATE) are allowed"))
        return ()
    return found


def _of_server(path: Path, leaf: x509.Certificate, now: Instant) -> Iterator[Problem]:
    """Judge the port's own certificate by what KEDA, a Go program, demands of it."""
    if now >= _end(leaf):
        yield said(path, f"it expired at {format_instant(_end(leaf))}; renew it")
    if now < _begin(leaf):
        begin = format_instant(_begin(leaf))
        yield said(path, f"it is not valid before {begin}; is the clock right?")
    if not _allowed(leaf):
        yield said(path, f"its kind of key can't be served; {KEYS}")
    if not _serves(leaf):
        yield said(path, "it is not for servers: its extended key usage must have serverAuth")
    if not _names(leaf):
        yield said(path, "it names no host: subjectAltName must have the name in scalerAddress")


def _of_key(
    files: CertificateFiles, content: bytes, chain: tuple[x509.Certificate, ...]
) -> Iterator[Problem]:
    try:
        key = load_pem_private_key(content, password=None)
    except TypeError:
        yield said(files.key, "it is encrypted; a key without a password is allowed")
        return
    except (ValueError, UnsupportedAlgorithm):
        what = "it is empty" if not content.strip() else "it is broken or cut off"
        yield said(files.key, f"{what}; one PEM private key (BEGIN PRIVATE KEY) is allowed")
        return
    shown = _public_key(chain[0]) if chain else None
    if shown is not None and key.public_key() != shown:
        first = f"the first certificate in {files.certificate}"
        yield said(files.key, f"it is not the key of {first}; the two must belong together")


def _of_authorities(
    path: Path, trusted: Iterable[x509.Certificate], now: Instant
) -> Iterator[Problem]:
    """Judge the authorities of clients; of several some may be at their end, never all."""
    ends = []
    for each in trusted:
        if _signs(each):
            ends.append(_end(each))
        else:
            subject = each.subject.rfc4514_string()
            yield said(path, f"{subject!r} is no authority; only those may be in it (CA:TRUE)")
    if ends and now >= max(ends):
        yield said(path, f"every authority in it expired, the last at {format_instant(max(ends))}")


def _public_key(certificate: x509.Certificate) -> CertificatePublicKeyTypes | None:
    try:
        return certificate.public_key()
    except _UNREADABLE:
        return None


def _allowed(leaf: x509.Certificate) -> bool:
    """Say whether gRPC's TLS serves such a key.

    It takes keys that are written plainly alone: of one with its curve spelled out, or bound to
    RSA-PSS, it would say nothing but go on with the key before.
    """
    key = _public_key(leaf)
    if isinstance(key, rsa.RSAPublicKey):
        allowed = key.key_size >= SMALLEST_RSA
    elif isinstance(key, ec.EllipticCurvePublicKey):
        allowed = key.curve.name in CURVES
    else:
        return isinstance(key, ed25519.Ed25519PublicKey)
    plain = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return allowed and plain in leaf.public_bytes(Encoding.DER)


def _serves(leaf: x509.Certificate) -> bool:
    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    allowed = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    return any(each in usage for each in allowed)


def _names(leaf: x509.Certificate) -> bool:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return bool(names.get_values_for_type(x509.DNSName)) or bool(
        names.get_values_for_type(x509.IPAddress)
    )


def _signs(certificate: x509.Certificate) -> bool:
    """Say whether it is an authority's; those of version 1 have no word for it."""
    if certificate.version is x509.Version.v1:
        return certificate.subject == certificate.issuer
    try:
        found = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return found.value.ca


def _end(certificate: x509.Certificate) -> Instant:
    return certificate.not_valid_after_utc.timestamp()


def _begin(certificate: x509.Certificate) -> Instant:
    return certificate.not_valid_before_utc.timestamp()
