"""Files are taken whole, or refused with every problem and what is allowed."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtensionOID

from scaler.certificates import Identity
from scaler.certificates.content import LARGEST, Content, read_content
from scaler.certificates.judge import KEYS, judge
from scaler.core.trigger import Problem
from scaler.settings import CertificateFiles
from tests.issuer import CLIENT, DAY, Issuer, Key, Mounted, Pair, now

AUTHORITY = Issuer(name="authority")
OTHER = Issuer(name="other")
ENDED = Issuer(name="ended", ends=now() - DAY)
GOOD = AUTHORITY.issue("server")
BUNDLE = AUTHORITY.pem
SHORT = 1024
CUT = GOOD.certificate[: len(GOOD.certificate) // 2]


def judged(folder: Path, **files: bytes) -> Identity | tuple[Problem, ...]:
    """Write the files, some of them otherwise, and judge them."""
    mounted = Mounted(folder)
    contents = {"tls_crt": GOOD.certificate, "tls_key": GOOD.key, "ca_crt": BUNDLE} | files
    mounted.put({name.replace("_", "."): content for name, content in contents.items()})
    return judge(mounted.files, read_content(mounted.files), now=now())


def refused(folder: Path, **files: bytes) -> list[tuple[str, str]]:
    """Give the file and the sentence of each problem."""
    problems = judged(folder, **files)
    assert isinstance(problems, tuple)
    return [(Path(each.path).name, each.allowed) for each in problems]


def test_good_files_tell_who_they_are(tmp_path: Path) -> None:
    """The serial number, and when certificate and authorities end."""
    found = judged(tmp_path)
    assert isinstance(found, Identity)
    assert (found.serial, found.expires) == (GOOD.serial, GOOD.ends)
    assert found.authorities_expire == AUTHORITY.ends
    assert (found.certificate, found.client_authorities) == (GOOD.certificate, BUNDLE)


def test_without_authorities_of_clients_none_are_judged(tmp_path: Path) -> None:
    """A port that asks no client for a certificate has two files."""
    mounted = Mounted(tmp_path)
    mounted.put({"tls.crt": GOOD.certificate, "tls.key": GOOD.key})
    found = judge(mounted.open_files, read_content(mounted.open_files), now=now())
    assert isinstance(found, Identity)
    assert (found.client_authorities, found.authorities_expire) == (None, None)


@pytest.mark.parametrize("words", ["# Főtanúsítvány\n".encode(), b"\xef\xbb\xbf", b"# S\xe3o\n"])
def test_words_beside_the_certificates_of_a_bundle_are_in_any_encoding(
    tmp_path: Path, words: bytes
) -> None:
    """A bundle names its authorities in comments; only the certificates are taken."""
    found = judged(tmp_path, ca_crt=words + BUNDLE)
    assert isinstance(found, Identity)
    assert found.client_authorities == BUNDLE


@pytest.mark.parametrize("file", ["tls.crt", "ca.crt"])
def test_a_certificate_with_an_unreadable_extension_is_broken(tmp_path: Path, file: str) -> None:
    """Extensions are read when somebody looks at them, which may be long after the certificate."""
    odd = x509.UnrecognizedExtension(ExtensionOID.EXTENDED_KEY_USAGE, b"\x01\x02\x03")
    pair = AUTHORITY.issue("odd", usage=(), odd=odd)
    said = dict(refused(tmp_path, **{file.replace(".", "_"): pair.certificate}))
    assert "it is broken or cut off" in said[file]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(["rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"], id="RSA for PSS alone"),
        pytest.param(
            ["ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"],
            id="a curve that is spelled out",
        ),
        pytest.param(["ec", "-pkeyopt", "ec_paramgen_curve:secp112r1"], id="an unknown curve"),
    ],
)
def test_a_key_that_grpc_would_pass_over_in_silence_is_refused(
    tmp_path: Path, kind: list[str]
) -> None:
    """OpenSSL takes them, and gRPC would go on with the ones before."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the openssl command is not there to make certificates")
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    asked = [openssl, "req", "-x509", "-nodes", "-subj", "/CN=odd", "-newkey", *kind]
    asked += ["-addext", "subjectAltName=DNS:odd", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(asked, check=True, capture_output=True)
    said = refused(tmp_path / "m", tls_crt=certificate.read_bytes(), tls_key=key.read_bytes())
    assert ("tls.crt", f"its kind of key can't be served; {KEYS}") in said


@pytest.mark.parametrize(
    ("files", "file", "words"),
    [
        pytest.param({"tls_crt": b" \n"}, "tls.crt", "it is empty", id="empty certificate"),
        pytest.param({"tls_crt": b"hello"}, "tls.crt", "BEGIN CERTIFICATE", id="no PEM"),
        pytest.param({"tls_crt": CUT}, "tls.crt", "broken or cut off", id="half a certificate"),
        pytest.param(
            {"tls_crt": GOOD.certificate + AUTHORITY.pem[:200]},
            "tls.crt",
            "broken or cut off",
            id="the chain's second half is missing",
        ),
        pytest.param({"tls_crt": GOOD.key}, "tls.crt", "BEGIN CERTIFICATE", id="key as cert"),
        pytest.param({"tls_key": b""}, "tls.key", "it is empty", id="empty key"),
        pytest.param({"tls_key": GOOD.key[:90]}, "tls.key", "broken or cut off", id="half a key"),
        pytest.param(
            {"tls_key": GOOD.certificate}, "tls.key", "BEGIN PRIVATE KEY", id="certificate as key"
        ),
        pytest.param(
            {"tls_key": OTHER.issue("x").key}, "tls.key", "is not the key of", id="another's key"
        ),
        pytest.param(
            {"tls_key": OTHER.issue("x", password=b"secret").key},
            "tls.key",
            "it is encrypted",
            id="a key with a password",
        ),
        pytest.param({"ca_crt": b""}, "ca.crt", "it is empty", id="no authority"),
        pytest.param({"ca_crt": BUNDLE[:-60]}, "ca.crt", "cut off", id="half an authority"),
        pytest.param(
            {"ca_crt": BUNDLE + GOOD.certificate}, "ca.crt", "CN=server", id="a leaf in the bundle"
        ),
        pytest.param({"ca_crt": ENDED.pem}, "ca.crt", "every authority in it expired", id="ended"),
        pytest.param({"tls_crt": b"x" * (LARGEST + 1)}, "tls.crt", "it is too large", id="a flood"),
    ],
)
def test_one_bad_file_is_named_with_what_is_allowed(
    files: dict[str, bytes], file: str, words: str, tmp_path: Path
) -> None:
    """One problem for one mistake, and nothing of the content in it."""
    ((named, said),) = refused(tmp_path, **files)
    assert named == file
    assert words in said
    assert "secret" not in said
    assert "-----BEGIN CERTIFICATE-----\n" not in said


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        pytest.param(AUTHORITY.issue("x", ends=now() - 60), "it expired at 2", id="expired"),
        pytest.param(AUTHORITY.issue("x", starts=now() + DAY), "not valid before 2", id="early"),
        pytest.param(AUTHORITY.issue("x", usage=[CLIENT]), "have serverAuth", id="for clients"),
        pytest.param(AUTHORITY.issue("x", names=[]), "it names no host", id="no name"),
    ],
)
def test_a_certificate_that_keda_would_refuse_is_refused(
    pair: Pair, words: str, tmp_path: Path
) -> None:
    """Go's TLS wants a time, a use and a name that fit; better said here than met there."""
    ((named, said),) = refused(tmp_path, tls_crt=pair.certificate, tls_key=pair.key)
    assert named == "tls.crt"
    assert words in said


@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        pytest.param(lambda: rsa.generate_private_key(65537, SHORT), False, id="RSA 1024"),
        pytest.param(lambda: rsa.generate_private_key(65537, 2048), True, id="RSA 2048"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP224R1()), False, id="P-224"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP384R1()), True, id="P-384"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP521R1()), True, id="P-521"),
        pytest.param(ed25519.Ed25519PrivateKey.generate, True, id="Ed25519"),
    ],
)
def test_keys_that_grpc_can_not_serve_are_refused(
    make: Callable[[], Key],
    allowed: bool,  # noqa: FBT001 - pytest gives it by name
    tmp_path: Path,
) -> None:
    """GRPC would stay with the old ones and say nothing; test_tls has it serve those allowed."""
    pair = AUTHORITY.issue("server", key=make())
    found = judged(tmp_path, tls_crt=pair.certificate, tls_key=pair.key)
    assert isinstance(found, Identity) is allowed
    if isinstance(found, tuple):
        assert ["RSA with 2048 bits" in each.allowed for each in found] == [True]


def test_of_several_authorities_one_may_be_at_its_end(tmp_path: Path) -> None:
    """While one takes the other's place both are in the bundle; the last one's end counts."""
    found = judged(tmp_path, ca_crt=ENDED.pem + OTHER.pem)
    assert isinstance(found, Identity)
    assert found.authorities_expire == OTHER.ends


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    """Nobody has to start three times to be told of three mistakes."""
    pair = AUTHORITY.issue("x", ends=now() - 60, names=[])
    found = refused(tmp_path, tls_crt=pair.certificate, tls_key=b"x", ca_crt=b"")
    assert [name for name, _ in found] == ["ca.crt", "tls.crt", "tls.crt", "tls.key"]


def test_files_that_can_not_be_read_say_why(tmp_path: Path) -> None:
    """One is missing, one is a folder, one a pipe that would never end."""
    files = CertificateFiles(
        certificate=tmp_path / "none", key=tmp_path, client_authorities=tmp_path / "pipe"
    )
    os.mkfifo(tmp_path / "pipe")
    found = judge(files, read_content(files), now=now())
    assert isinstance(found, tuple)
    assert [each.path for each in found] == [
        str(each) for each in (files.certificate, files.key, files.client_authorities)
    ]
    assert "No such file" in found[0].allowed
    assert ["regular file" in each.allowed for each in found] == [False, True, True]


def test_the_key_is_not_shown_where_an_identity_is(tmp_path: Path) -> None:
    """Whatever logs an Identity logs no key."""
    found = judged(tmp_path)
    assert isinstance(found, Identity)
    assert "PRIVATE" not in repr(found)


def test_files_are_read_again_until_two_readings_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A swap amid a reading pairs no certificate with another's key."""
    mounted, second = Mounted(tmp_path), AUTHORITY.issue("second")
    mounted.swap(GOOD, AUTHORITY)
    reads: list[Path] = []
    plain = Path.open

    def opened(path: Path, mode: str = "r") -> object:
        reads.append(path)
        if len(reads) == 2:  # the certificate was read, its key comes next
            mounted.swap(second, AUTHORITY)
        return plain(path, mode)

    monkeypatch.setattr(Path, "open", opened)
    found = read_content(mounted.files)
    assert found == Content(
        certificate=second.certificate, key=second.key, client_authorities=BUNDLE
    )
    assert len(reads) > 6
