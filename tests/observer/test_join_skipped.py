"""Malformed objects in Snapshots: how many there are now, however they came."""

from scaler.core.model import Kind, SourceState
from scaler.observer.changes import Listed, SourceChanged
from scaler.observer.join import Joiner
from tests.builders import NOW


def test_malformed_objects_of_a_watch_show_too() -> None:
    """One in the list, one more by the watch, and both mended."""
    joiner = Joiner()
    joiner.apply(Listed(kind=Kind.PODS, records=[], skipped=1))
    for skipped in (1, 2, 0):
        state = SourceState(synced=True, last_alive=NOW, skipped=skipped)
        joiner.apply(SourceChanged(kind=Kind.PODS, state=state))
        snapshot, _ = joiner.snapshot(at=NOW)
        assert snapshot.skipped.get(Kind.PODS, 0) == skipped
