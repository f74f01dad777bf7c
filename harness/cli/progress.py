"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

import threading
import time
from typing import Self

from rich.console import Console
from rich.status import Status

from harness.problem.plan import Cell


class Progress:
    """Counts cells and guesses the time left from those done."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._running: list[str] = []
        self._console = Console(highlight=False, quiet=quiet)
        self._status: Status | None = None
        self.failed = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def notify(self, cell: Cell, status: str, seconds: float) -> None:
        """Show that a cell starts ("running") or how it ended."""
        name = f"{cell.case} {cell.variant} {cell.capture} round {cell.round}"
        with self._lock:
            if status == "running":
                self._running.append(name)
            else:
                self._running.remove(name)
                self._done += 1
                self.failed += status != "ok"
                line = f"[{self._done}/{self._total}] {name}: {status}, {seconds:.1f} s"
                self._console.print(line, markup=False, soft_wrap=True)
            if self._status:
                self._status.update(f"{'; '.join(self._running)}; {self._left()}")

    def _left(self) -> str:
        if not self._done:
            return f"{self._total} to go"
        spent = time.monotonic() - self._start
        left = spent / self._done * (self._total - self._done)
        return f"about {left / 60:.0f} min left"
