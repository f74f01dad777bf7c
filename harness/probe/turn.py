"""Taking turns on the GPU: cells of one run may set up together, but measure alone."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


class Turn:
    """A lock that set-up shares and measurement holds alone; the kernel frees it if we die.

    A cell that is ``alone`` holds it from start to end: it tunes kernels by timing them.
    """

    def __init__(self, path: Path, *, alone: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a")
        self._alone = alone
        fcntl.flock(self._file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Wait until nobody else sets up or measures, then keep them out."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if not self._alone:
                fcntl.flock(self._file, fcntl.LOCK_SH)
