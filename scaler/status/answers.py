"""Answers of the status port, and what of a request they depend on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from scaler.core.quantity import format_instant
from scaler.status.page import Rendered
from scaler.status.page.assets import Asset
from scaler.store import State
from scaler.view import Shown, shown

HTML = "text/html; charset=utf-8"
JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

GUARD: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
}
"""On every answer: nothing inline runs, and nothing comes from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer."""

    body: bytes
    content_type: str
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)
    packed: bytes | None = None
    """The body in gzip, for those that take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a request an answer may depend on."""

    path: str
    query: str
    accept: str
    etag: str
    """If-None-Match."""


Route: TypeAlias = Callable[[Asked], Page]


class Decisions(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The body of /decisions."""

    at: str
    sequence: int
    policy_ok: bool
    policy_problems: tuple[str, ...]
    details: tuple[str, ...]
    """What is wrong with sources and policy, as /readyz says it."""
    decisions: tuple[Shown, ...]


def decisions(state: State, *, details: tuple[str, ...]) -> Page:
    """Answer with every decision, for programs."""
    body = Decisions(
        at=format_instant(state.snapshot.at),
        sequence=state.sequence,
        policy_ok=not state.policy.problems,
        policy_problems=tuple(str(problem) for problem in state.policy.problems),
        details=details,
        decisions=tuple(
            shown(decision)
            for decision in sorted(
                state.decisions.values(), key=lambda d: (d.namespace, d.name, d.metric)
            )
        ),
    )
    return Page(body=msgspec.json.encode(body), content_type=JSON)


def metrics(registry: CollectorRegistry, asked: Asked) -> Page:
    """Answer with the metrics, in the form that is asked for."""
    try:
        encode, content_type = choose_encoder(asked.accept)
    except (TypeError, ValueError):
        # The library stumbles over parameters that are no version: any text is right then.
        encode, content_type = choose_encoder("")
    return Page(body=encode(registry), content_type=content_type)


def conditional(rendered: Rendered, asked: Asked) -> Page:
    """Answer with a page, or say that the reader has it.

    Of which moment it is goes into the head: that moves on while the page stays the same.
    """
    headers = {
        "ETag": rendered.etag,
        "Scaler-As-Of": f"{rendered.at:.3f}",
        "Scaler-Now": f"{rendered.now:.3f}",
        "Vary": "Accept-Encoding",
    }
    if asked.etag == rendered.etag:
        return Page(body=b"", content_type=HTML, status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Page(body=rendered.body, content_type=HTML, headers=headers, packed=rendered.packed)


def unchanging(asset: Asset) -> Route:
    """Answer with a file whose address names its content."""
    forever = {"Cache-Control": "public, max-age=31536000, immutable"}
    page = Page(body=asset.body, content_type=asset.content_type, headers=forever)
    return lambda _: page
