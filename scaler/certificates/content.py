"""Read the files of a port whole: all of one moment, or a sentence for each that can't be read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scaler.core.trigger import Problem
from scaler.settings import CertificateFiles

LARGEST: Final = 1024 * 1024
"""Bytes; a Secret holds no more."""
TRIES: Final = 5
"""How often files that keep changing are read before they are taken as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What the files hold; a Problem where one can't be read."""

    certificate: bytes | Problem
    key: bytes | Problem
    client_authorities: bytes | Problem | None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Give what can't be read."""
        every = (self.certificate, self.key, self.client_authorities)
        return tuple(each for each in every if isinstance(each, Problem))


def read_content(files: CertificateFiles) -> Content:
    """Read until two readings agree: a swap amid one would mix the old with the new."""
    content = _once(files)
    for _ in range(TRIES):
        before, content = content, _once(files)
        if content == before:
            break
    return content


def _once(files: CertificateFiles) -> Content:
    authorities = files.client_authorities
    return Content(
        certificate=_read(files.certificate),
        key=_read(files.key),
        client_authorities=None if authorities is None else _read(authorities),
    )


def _read(path: Path) -> bytes | Problem:
    try:
        if path.exists() and not path.is_file():  # to open a pipe would be to wait for a writer
            return said(path, "it can't be read; it must be a regular file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        return said(path, f"it can't be read: {error.strerror or error}")
    if len(content) > LARGEST:
        return said(path, f"it is too large; {LARGEST} bytes are allowed")
    return content


def said(path: Path, sentence: str) -> Problem:
    """Name a file and what is wrong with it; its content is never shown, it may be a key."""
    return Problem(path=str(path), value="", allowed=sentence)
