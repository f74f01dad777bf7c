"""Shows that something works: what, for how long, and the last line of its log."""

import threading
import time
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from harness.ground import process
from harness.ground.plain import plain

_LOOK_S = 0.5
_PLAIN_S = 5.0
"""Without a terminal, the seconds from one line to the next."""


class Waiting:
    """Shows the newest message with the seconds since then, until the next message or the end."""

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, quiet=quiet)
        self._status = Status("", console=self._console)
        self._lock = threading.Lock()
        self._what, self._log, self._since = "", Path(), time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._status.stop()

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(plain(line), markup=False, soft_wrap=True)

    def work_on(self, what: str, log: Path = Path()) -> None:
        """Show from now on that ``what`` works, with the last line of ``log`` if that is a file."""
        with self._lock:
            self._what, self._log, self._since = what, log, time.monotonic()

    def _look(self) -> None:
        pause = _LOOK_S if self._console.is_terminal else _PLAIN_S
        while not self._ended.wait(pause):
            with self._lock:
                what, log, since = self._what, self._log, self._since
            if not what:
                continue
            line = f"{what}, {time.monotonic() - since:.0f} s"
            detail = process.last_line(log) if log.is_file() else ""
            line = plain(f"{line}: {detail}" if detail else line)
            if self._console.is_terminal:
                self._status.update(escape(line[: self._console.width - 4]))
            else:
                self._console.print(line, markup=False, soft_wrap=True)
