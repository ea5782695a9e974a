"""Read a kind completely, page by page."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scaler.kube.api import JSON, Api, NoAnswerError
from scaler.kube.decode import PageError, decode_page
from scaler.kube.discovery import Served
from scaler.kube.forms import Key, Record
from scaler.kube.resources import Resource

PAGE_SIZE = 500
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


@dataclass(slots=True, kw_only=True)
class Listing:
    """A complete list, all pages of one moment."""

    version: str
    """resourceVersion to watch from."""
    records: list[Record] = field(default_factory=list)
    malformed: list[Key | None] = field(default_factory=list)
    """Keys of the objects that were skipped."""
    problems: list[str] = field(default_factory=list)
    """What was wrong with each of them."""


def accept(resource: Resource, *, one: bool) -> str:
    """Give the Accept header: metadata alone where nothing else is read."""
    if not resource.metadata_only:
        return JSON
    return _METADATA.format("" if one else "List")


def read_list(
    api: Api,
    resource: Resource,
    served: Served,
    *,
    stopping: Callable[[], bool] = lambda: False,
) -> Listing | None:
    """List a kind; None when `stopping` says so between two pages.

    Raises:
        ApiError, NoAnswerError: a page did not come; nothing of the others may be used.
    """
    listing: Listing | None = None
    params = {"limit": str(PAGE_SIZE)}
    while not stopping():
        raw = api.get(served.path, params=params, accept=accept(resource, one=False))
        try:
            page = decode_page(resource.kind, raw)
        except PageError as error:
            raise NoAnswerError(f"the answer is no list: {error}") from error
        if listing is None:
            listing = Listing(version=page.version)
        listing.records += page.records
        listing.malformed += page.malformed
        listing.problems += page.problems
        if not page.next_page:
            return listing
        params["continue"] = page.next_page
    return None
