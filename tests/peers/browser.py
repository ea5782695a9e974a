"""Drive a headless Chromium over the DevTools protocol: enough of it to look at a page."""

import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from websocket import WebSocket, create_connection

PROGRAM: Final = "chromium"
PATIENCE: Final = 60.0
"""Seconds; the machine may be busy with other things."""
PAUSE: Final = 0.05
"""Seconds between two looks."""


class NoBrowserError(Exception):
    """There is none, or it does not start."""


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    value: object = None
    description: str = ""


class _Thrown(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""


class _Refused(msgspec.Struct, frozen=True, kw_only=True):
    message: str = ""


class _Evaluated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    result: _Result = _Result()
    exception_details: _Thrown | None = None


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """An answer has an id, an event a method."""

    id: int | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: _Refused | None = None


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    url: str


class _Sent(msgspec.Struct, frozen=True, kw_only=True):
    request: _Request


class _Target(msgspec.Struct, frozen=True, kw_only=True, rename={"socket": "webSocketDebuggerUrl"}):
    socket: str


@dataclass(slots=True)
class Tab:
    """One tab; what it asked for and complained of is kept as it is heard."""

    socket: WebSocket
    asked: list[str] = field(default_factory=list)
    """URLs of its requests."""
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of the console, exceptions, and what its policy refused."""
    _number: int = 0

    def call(self, method: str, **parameters: object) -> msgspec.Raw:
        """Call a method and wait for its answer."""
        self._number += 1
        wanted = self._number
        self.socket.send(json.dumps({"id": wanted, "method": method, "params": parameters}))
        while True:
            message = msgspec.json.decode(self.socket.recv(), type=_Message)
            if message.id != wanted:
                self._hear(message)
                continue
            if message.error is not None:
                raise RuntimeError(f"{method}: {message.error.message}")
            return message.result

    def open(self, url: str) -> None:
        """Go there, and wait until the page and its script are ready."""
        self.call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def value(self, expression: str) -> object:
        """Evaluate an expression to a plain value."""
        raw = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        found = msgspec.json.decode(raw, type=_Evaluated)
        if found.exception_details is not None:
            what = f"{found.exception_details.text} {found.result.description}"
            raise RuntimeError(f"{expression}: {what}")
        return found.result.value

    def text(self, selector: str = "main") -> str:
        """Give what a person reads in an element; empty where there is none."""
        found = self.value(f"document.querySelector({json.dumps(selector)})?.innerText || ''")
        return " ".join(str(found).split())

    def wait(self, expression: str) -> bool:
        """Wait until an expression is true; say whether it became so.

        What throws is not true yet: between two pages there is nothing to look at.
        """
        safely = f"(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        pause = threading.Event()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.value(safely) is True:
                return True
            pause.wait(PAUSE)
        return False

    def look(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Be a screen of that size, of a person who likes it light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def type(self, selector: str, text: str) -> None:
        """Type into a field, key by key."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def _hear(self, message: _Message) -> None:
        match message.method:
            case "Network.requestWillBeSent":
                self.asked.append(msgspec.json.decode(message.params, type=_Sent).request.url)
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded":
                self.complaints.append(bytes(message.params).decode()[:400])
            case _:
                pass


@contextmanager
def browser() -> Iterator[Mapping[str, str]]:
    """Run Chromium with a profile of its own; give where its DevTools are.

    Raises:
        NoBrowserError: there is none, or it does not start.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise NoBrowserError(f"{PROGRAM} is not there")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-address=127.0.0.1",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield {"address": _address(process, Path(folder) / "DevToolsActivePort")}
        finally:
            process.terminate()
            process.wait(PATIENCE)


@contextmanager
def tab(found: Mapping[str, str]) -> Iterator[Tab]:
    """Open a tab that is listened to from its beginning on."""
    request = urllib.request.Request(
        f"http://{found['address']}/json/new?about:blank", method="PUT"
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - loopback
        target = msgspec.json.decode(answer.read(), type=_Target)
    socket = create_connection(target.socket, timeout=PATIENCE, suppress_origin=True)
    opened = Tab(socket=socket)
    try:
        for domain in ("Page", "Runtime", "Log", "Network"):
            opened.call(f"{domain}.enable")
        yield opened
    finally:
        socket.close()


def _address(process: "subprocess.Popen[bytes]", port: Path) -> str:
    """Wait until the browser wrote which port it has."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NoBrowserError(f"{PROGRAM} ended with {process.returncode}")
        try:
            number = port.read_text(encoding="ascii").split("\n", 1)[0]
        except FileNotFoundError:
            number = ""
        if number:
            return f"127.0.0.1:{number}"
        with suppress(subprocess.TimeoutExpired):
            process.wait(PAUSE)
    raise NoBrowserError(f"{PROGRAM} does not say its port")
