"""The flags of a port's certificates."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from scaler.settings import CertificateFiles

FILES = ("cert", "key", "client-ca")
"""What the flags end in."""


def add_certificate_arguments(parser: argparse.ArgumentParser, *, port: str, clients: str) -> None:
    """Add a port's three files; `clients` says what becomes of a client without a certificate."""
    texts = (
        "PEM certificate of this port, its chain behind it; default: no TLS",
        "PEM key of that certificate",
        f"PEM authorities of clients: {clients}; default: none is asked for a certificate",
    )
    for name, text in zip(FILES, texts, strict=True):
        parser.add_argument(f"--{port}-{name}", type=Path, metavar="FILE", help=text)


def certificate_files(
    args: argparse.Namespace, *ports: str
) -> Mapping[str, CertificateFiles | None]:
    """Give the files of each port; None where it goes without.

    Raises:
        ValueError: files that are no use without another one; one line each.
    """
    if problems := [problem for port in ports for problem in _missing(args, port)]:
        raise ValueError("\n".join(problems))
    return {port: _files(args, port) for port in ports}


def _files(args: argparse.Namespace, port: str) -> CertificateFiles | None:
    given = _given(args, port)
    if not given:
        return None
    return CertificateFiles(
        certificate=given["cert"], key=given["key"], client_authorities=given.get("client-ca")
    )


def _missing(args: argparse.Namespace, port: str) -> Iterator[str]:
    given = _given(args, port)
    named = " and ".join(f"--{port}-{name}" for name in given)
    for name in ("cert", "key"):
        if given and name not in given:
            yield f"{named} {'need' if len(given) > 1 else 'needs'} --{port}-{name} FILE too"


def _given(args: argparse.Namespace, port: str) -> Mapping[str, Path]:
    files = {name: getattr(args, f"{port}_{name.replace('-', '_')}") for name in FILES}
    return {name: file for name, file in files.items() if isinstance(file, Path)}
