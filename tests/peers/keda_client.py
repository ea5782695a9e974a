"""KEDA's own scaler client, as a process that takes commands and tells events."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

Event: TypeAlias = Mapping[str, Any]
"""One line of the program's output; the fields are those of `event` in keda/main.go."""

PATIENCE = 30.0
"""Seconds to wait for anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A trigger as KEDA's client gets it."""

    namespace: str
    name: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One round of the scale loop: specs, then the answer to each."""

    specs: tuple[tuple[str, str], ...]
    """(HPA metric name, target average)."""
    code: str = ""
    """gRPC code of the first metric's answer; empty without a spec."""
    active: bool = False
    values: tuple[float, ...] = ()
    seconds: float = 0.0


class KedaClient(AbstractContextManager["KedaClient"]):
    """Run the program; every event is kept, in order."""

    def __init__(self, program: Path) -> None:
        self.events: list[Event] = []
        self._arrived = threading.Condition()
        self._asked = 0
        self._process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(PATIENCE)

    def poll(self, asked: Asked, *, address: str) -> Poll:
        """Ask once what KEDA's scale loop asks."""
        key = self._send("poll", asked, address=address)
        event = self.wait(lambda event: event.get("id") == key)
        if event is None:
            raise TimeoutError(f"no answer to a poll in {PATIENCE:.0f} s")
        specs = tuple((spec["name"], spec["average"]) for spec in event.get("specs", ()))
        for reading in event.get("readings", ()):
            return Poll(
                specs=specs,
                code=reading["code"],
                active=reading["active"],
                values=tuple(reading["values"]),
                seconds=event["seconds"],
            )
        return Poll(specs=specs, seconds=event["seconds"])

    def watch(self, asked: Asked, *, address: str) -> str:
        """Open the push streams of a trigger; the key names its events."""
        return self._send("watch", asked, address=address)

    def mark(self) -> int:
        """Give the place in `events` from which on something new is looked for."""
        with self._arrived:
            return len(self.events)

    def wait(
        self, wanted: Callable[[Event], bool], *, since: int = 0, patience: float = PATIENCE
    ) -> Event | None:
        """Wait for an event; None where it did not come."""
        deadline = time.monotonic() + patience
        with self._arrived:
            while True:
                for event in self.events[since:]:
                    if wanted(event):
                        return event
                left = deadline - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    return None

    def _send(self, do: str, asked: Asked, *, address: str) -> str:
        self._asked += 1
        key = f"{do}-{self._asked}"
        command = {
            "id": key,
            "do": do,
            "namespace": asked.namespace,
            "name": asked.name,
            "metadata": {**asked.metadata, "scalerAddress": address},
            "timeout": PATIENCE,
        }
        if self._process.stdin is not None:
            self._process.stdin.write(f"{json.dumps(command)}\n")
            self._process.stdin.flush()
        return key

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with self._arrived:
                self.events.append(json.loads(line))
                self._arrived.notify_all()
