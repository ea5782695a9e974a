"""Each kind that is shown is judged by an API server, or on a short list of those that are not."""

import pytest

from tests.docs.blocks import pages
from tests.e2e.api import RESOURCES
from tests.e2e.scenarios.documented import ABSENT, EXAMPLES, shown


@pytest.mark.parametrize("kind", ABSENT)
def test_absent_kinds_are_shown(kind: str) -> None:
    """A kind that no page shows any more goes from the list."""
    assert kind in {each["kind"] for name in (*pages(), *EXAMPLES) for each in shown(name)}


@pytest.mark.parametrize("name", [*pages(), *EXAMPLES])
def test_every_kind_is_known(name: str) -> None:
    """A kind that the API server does not serve is on the list, with the reason."""
    kinds = {each["kind"] for each in shown(name)}
    assert kinds <= {*RESOURCES, *ABSENT}
