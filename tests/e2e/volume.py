"""A ConfigMap's or Secret's volume as the kubelet keeps one: its content is swapped in one step."""

import base64
import itertools
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import requests

from tests.e2e.api import Object, RefusedError

INTERVAL = 0.5
"""Seconds between two looks; the kubelet may take a minute."""
CURRENT = "..data"
NEXT = "..data_tmp"


class Objects(Protocol):
    """Where the ConfigMap or Secret is read."""

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Give an object, or None where there is none."""
        ...


@dataclass(slots=True)
class Volume:
    """Carry a ConfigMap or Secret over to a folder, as the kubelet's atomic writer does.

    `policy.yaml` is a link to `..data/policy.yaml`, and `..data` a link to a folder named after a
    time, which a new link replaces. While the API server is away, and once the ConfigMap is gone,
    the content stays.
    """

    api: Objects
    namespace: str
    name: str
    folder: Path
    kind: str = "ConfigMap"
    _written: dict[str, str] | None = None
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the folder is looked at and written."""

    def sync(self) -> bool:
        """Write the object's content where it changed, and say whether it did.

        Raises:
            RefusedError, requests.RequestException: the API server gives no answer.
        """
        with self._lock:
            found = self.api.get(self.kind, self.name, self.namespace)
            wanted = None if found is None else self._texts(found)
            if wanted is None or wanted == self._written:
                return False
            self._swap(wanted)
            self._written = wanted
            return True

    def start(self) -> None:
        """Follow the object in a thread; where it can't be read now, it is read later."""
        self._ending.clear()
        self._thread = threading.Thread(target=self._follow, name=f"volume {self.name}")
        self._thread.daemon = True
        self._thread.start()

    def stop(self) -> None:
        """Follow it no longer; the folder stays."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def _texts(self, found: Object) -> dict[str, str]:
        held: dict[str, str] = found.get("data") or {}
        if self.kind != "Secret":
            return dict(held)
        return {key: base64.b64decode(value).decode() for key, value in held.items()}

    def _follow(self) -> None:
        while not self._ending.is_set():
            # An outage is what some scenarios are about.
            with suppress(RefusedError, requests.RequestException):
                self.sync()
            self._ending.wait(INTERVAL)

    def _swap(self, wanted: Mapping[str, str]) -> None:
        """Write a new folder, point to it in one step, then tidy up, in the kubelet's order."""
        current = self.folder / CURRENT
        old = current.resolve() if current.is_symlink() else None
        fresh = self.folder / f"..{time.strftime('%Y_%m_%d_%H_%M_%S')}.{next(self._numbers)}"
        fresh.mkdir(parents=True)
        for key, text in wanted.items():
            (fresh / key).write_text(text, encoding="utf-8")
        pointer = self.folder / NEXT
        pointer.unlink(missing_ok=True)
        pointer.symlink_to(fresh.name)
        pointer.replace(current)
        self._link(wanted)
        if old is not None:
            shutil.rmtree(old)

    def _link(self, wanted: Mapping[str, str]) -> None:
        """Have a link for each key, and none for a key that is gone."""
        for key in wanted:
            if not (self.folder / key).is_symlink():
                (self.folder / key).symlink_to(Path(CURRENT) / key)
        for path in self.folder.iterdir():
            if not path.name.startswith("..") and path.name not in wanted:
                path.unlink()
