"""The style, the script and the icon: files of ours, served by the same port."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that never changes under one address."""

    path: str
    body: bytes
    content_type: str

    @property
    def href(self) -> str:
        """Give the relative address, another one for each content."""
        return f"{self.path}?v={hashlib.sha256(self.body).hexdigest()[:12]}"


def _asset(path: str, content_type: str) -> Asset:
    body = files("scaler.status.page").joinpath(path).read_bytes()
    return Asset(path=path, body=body, content_type=content_type)


STYLE = _asset("page.css", "text/css; charset=utf-8")
SCRIPT = _asset("page.js", "text/javascript; charset=utf-8")
ICON = _asset("icon.svg", "image/svg+xml")
ASSETS = (STYLE, SCRIPT, ICON)
