"""An API server that does not have a group's newest version yet: the real one, with that hidden."""

from pathlib import Path

from tests.e2e.reverse import Reverse


class OlderApi(Reverse):
    """A reverse proxy on loopback that knows nothing of some paths.

    Kueue converts by itself: what is asked in an older version comes as the real Kueue writes it.
    """

    def __init__(self, url: str, *, authority: Path, hidden: tuple[str, ...]) -> None:
        super().__init__(url, authority=authority)
        self._hidden = hidden

    def hides(self, path: str) -> bool:
        """Say whether a path is hidden, or below one that is."""
        return any(path == hidden or path.startswith(f"{hidden}/") for hidden in self._hidden)
