"""Taking turns on the GPU: cells of one run may set up together, but measure alone."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class Turn:
    """A lock that set-up shares and measurement holds alone; the kernel frees it if we die.

    A cell that is ``alone`` holds it from start to end: it tunes kernels by timing them. Who wants
    to be alone waits at a gate that newcomers have to pass, so a stream of them cannot starve it.
    """

    def __init__(self, path: Path, *, alone: bool) -> None:
        self._lock = _opened(path)
        self._gate = _opened(path.with_name(f"{path.name}.gate"))
        self._alone = alone
        self._take(fcntl.LOCK_EX if alone else fcntl.LOCK_SH)

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Wait until nobody else sets up or measures, then keep them out."""
        if self._alone:
            yield
            return
        # Let go first: whoever stands at the gate waits for us.
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        self._take(fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def _take(self, how: int) -> None:
        fcntl.flock(self._gate, how)
        fcntl.flock(self._lock, how)
        fcntl.flock(self._gate, fcntl.LOCK_UN)


def _opened(path: Path) -> IO[str]:
    """Open for writing, as a lock on NFS needs; a container sees the folder read only."""
    try:
        return path.open("a")
    except OSError:
        return path.open()
