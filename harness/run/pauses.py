"""The pauses between a run's cells: a GPU that rests between rounds is another GPU."""

import contextlib
import threading
import time
from collections.abc import Iterator


class Pauses:
    """Measures for how long no cell of a run was running; ``since`` is when the last one ended."""

    def __init__(self, since: float | None = None) -> None:
        self._since = since
        self._running = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def ended(self) -> Iterator[float | None]:
        """Run a cell within; yield the seconds of the pause before it, None before the first.

        Beside another running cell the pause is 0.
        """
        with self._lock:
            pause = None
            if self._since is not None:
                pause = max(0.0, round(time.time() - self._since, 3))
            idle = 0.0 if self._running else pause
            self._running += 1
        try:
            yield idle
        finally:
            with self._lock:
                self._running -= 1
                self._since = time.time()
