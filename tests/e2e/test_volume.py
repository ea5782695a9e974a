"""The ConfigMap volume changes in one step, and an outage changes nothing."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from tests.e2e.api import Object
from tests.e2e.volume import CURRENT, Volume
from tests.e2e.waiting import until

PATIENCE = 10.0


@dataclass(slots=True)
class OneConfigMap:
    """An API server with one ConfigMap, or none, or out of reach."""

    files: dict[str, str] | None
    away: bool = False
    asked: threading.Event = field(default_factory=threading.Event)

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Give the ConfigMap."""
        assert (kind, name, namespace) == ("ConfigMap", "policy", "n")
        self.asked.set()
        files = self.files  # before `away`, which is set first: no later content slips out
        if self.away:
            raise requests.ConnectionError
        return None if files is None else {"data": files}


def mount(api: OneConfigMap, folder: Path) -> Volume:
    """Give a volume of the ConfigMap."""
    return Volume(api, "n", "policy", folder)


class OneSecret:
    """An API server with one Secret."""

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Give the Secret."""
        assert (kind, name, namespace) == ("Secret", "tls", "n")
        return {"data": {"tls.crt": "UEVN"}}


def listing(folder: Path) -> set[str]:
    """Give the names that a reader of the volume sees."""
    return {path.name for path in folder.iterdir() if not path.name.startswith("..")}


def test_links(tmp_path: Path) -> None:
    """A file is a link through ..data to a folder that is named after a time."""
    assert mount(OneConfigMap({"policy.yaml": "a"}), tmp_path).sync()
    file = tmp_path / "policy.yaml"
    assert file.read_text() == "a"
    assert file.readlink() == Path("..data/policy.yaml")
    assert (tmp_path / CURRENT).readlink() == Path(file.resolve().parent.name)


def test_change(tmp_path: Path) -> None:
    """A change moves ..data to a new folder and removes the old one."""
    api = OneConfigMap({"policy.yaml": "a"})
    volume = mount(api, tmp_path)
    volume.sync()
    before = (tmp_path / CURRENT).resolve()
    api.files = {"policy.yaml": "b"}
    assert volume.sync()
    assert (tmp_path / "policy.yaml").read_text() == "b"
    assert (tmp_path / CURRENT).resolve() != before
    assert not before.exists()


def test_no_change(tmp_path: Path) -> None:
    """Without a change nothing moves."""
    volume = mount(OneConfigMap({"policy.yaml": "a"}), tmp_path)
    volume.sync()
    before = (tmp_path / CURRENT).readlink()
    assert not volume.sync()
    assert (tmp_path / CURRENT).readlink() == before


def test_keys(tmp_path: Path) -> None:
    """Files come and go with the ConfigMap's keys."""
    api = OneConfigMap({"policy.yaml": "a", "old": "x"})
    volume = mount(api, tmp_path)
    volume.sync()
    api.files = {"policy.yaml": "a", "new": "y"}
    volume.sync()
    assert listing(tmp_path) == {"policy.yaml", "new"}


def test_deleted(tmp_path: Path) -> None:
    """Once the ConfigMap is deleted the content stays."""
    api = OneConfigMap({"policy.yaml": "a"})
    volume = mount(api, tmp_path)
    volume.sync()
    api.files = None
    assert not volume.sync()
    assert (tmp_path / "policy.yaml").read_text() == "a"


def test_outage(tmp_path: Path) -> None:
    """One sync tells that the API server is away."""
    with pytest.raises(requests.ConnectionError):
        mount(OneConfigMap({}, away=True), tmp_path).sync()


def test_followed(tmp_path: Path) -> None:
    """A volume that is followed survives an outage, and has the newest content after it."""
    api = OneConfigMap({"policy.yaml": "a"})
    volume = mount(api, tmp_path)
    volume.start()
    try:
        until((tmp_path / "policy.yaml").exists, "the first content", within=PATIENCE)
        api.away = True
        api.files = {"policy.yaml": "b"}
        api.asked.clear()
        assert api.asked.wait(PATIENCE)
        assert (tmp_path / "policy.yaml").read_text() == "a"
        api.away = False
        until(
            lambda: (tmp_path / "policy.yaml").read_text() == "b",
            "the content after the outage",
            within=PATIENCE,
        )
    finally:
        volume.stop()


def test_secret(tmp_path: Path) -> None:
    """A Secret's content is written as it is, not in the API's base64."""
    assert Volume(OneSecret(), "n", "tls", tmp_path, kind="Secret").sync()
    assert (tmp_path / "tls.crt").read_text() == "PEM"
