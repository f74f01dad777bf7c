"""A page in headless Chromium, driven by the DevTools protocol over a pair of pipes."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

_CODES = {"Tab": 9, "Enter": 13}
"""Keys that do what they do to a focused element only with their number."""
_WITH_PIPES = """
import os, sys
commands, answers = (os.dup2(int(number), 100 + int(number)) for number in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts Chromium, which reads commands from descriptor 3 and writes answers to 4."""


class Page:
    """A page that was loaded; ``complaints`` are its console's errors and uncaught exceptions."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._read, self._count = b"", 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def open(self, file: Path, width: int, height: int, fragment: str = "") -> None:
        """Load a file, in place of the last, and wait until its script says that it is ready."""
        if self._session is None:
            target = self.send("Target.createTarget", url="about:blank")["targetId"]
            attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Runtime", "Page", "Network", "Log"):
                self.send(f"{domain}.enable")
        self.resize(width, height)
        self.send("Page.navigate", url=f"{file.as_uri()}#{fragment}" if fragment else file.as_uri())
        self.wait_for("document.documentElement?.dataset.ready")

    def wait_for(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is neither false nor empty."""
        deadline = time.monotonic() + 60
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, (expression, self.complaints)
            time.sleep(0.02)
        return value

    def resize(self, width: int, height: int) -> None:
        """Give the window another size, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, x: float, y: float) -> None:
        """Press and release the left button there."""
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key, by its name in JavaScript."""
        how: dict[str, Any] = {"key": key}
        if key in _CODES:
            how |= {"code": key, "windowsVirtualKeyCode": _CODES[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **how, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **how)

    @contextmanager
    def printed(self) -> Iterator[None]:
        """Show the page as paper does until the end of ``with``; its scripts hear of both."""
        self.send("Emulation.setEmulatedMedia", media="print")
        self.evaluate("dispatchEvent(new Event('beforeprint'))")
        yield
        self.evaluate("dispatchEvent(new Event('afterprint'))")
        self.send("Emulation.setEmulatedMedia", media="")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command; events that come before it are noted."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            got = self._receive()
            if got.get("id") == self._count:
                assert "error" not in got, (method, got["error"])
                result: dict[str, Any] = got["result"]
                return result
            self._note(got)

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.complaints.append(json.dumps(parameters["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            part = os.read(self._from, 1 << 20)
            assert part, "Chromium ended"
            self._read += part
        message, self._read = self._read.split(b"\0", 1)
        got: dict[str, Any] = json.loads(message)
        return got


@contextmanager
def opened(file: Path, width: int = 1200, height: int = 900) -> Iterator[Page]:
    """Load a file in a browser of its own; ``width`` and ``height`` in CSS pixels."""
    assert PROGRAM, "Chromium is not installed"
    read_commands, to_browser = os.pipe()
    from_browser, write_answers = os.pipe()
    profile = file.with_name(f"{file.stem}-profile")
    argv = [sys.executable, "-c", _WITH_PIPES, str(read_commands), str(write_answers), PROGRAM]
    argv += [*_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    silent = subprocess.DEVNULL
    pipes = (read_commands, write_answers)
    browser = subprocess.Popen(argv, pass_fds=pipes, stdout=silent, stderr=silent)
    os.close(read_commands)
    os.close(write_answers)
    try:
        page = Page(to_browser, from_browser)
        page.open(file, width, height)
        yield page
    finally:
        browser.terminate()
        browser.wait(timeout=20)
        os.close(to_browser)
        os.close(from_browser)
        shutil.rmtree(profile, ignore_errors=True)
