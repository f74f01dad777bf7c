"""Taking turns on the GPU: cells of one run may set up together, but time anything alone."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


class Turn:
    """A lock that set-up shares, and that tuning and measuring hold alone.

    The kernel frees it if we die. A cell that is ``alone`` holds it alone from start to end. Who
    wants to be alone keeps newcomers out at a gate, so a stream of them cannot starve it: all
    who wait to be alone have their turn, and then the newcomers set up together.

    The caller waits for its own work on the GPU before each call, except ``__init__``. While the
    turn is waited for, the folder ``sign`` exists, so that the harness does not count that time.
    """

    def __init__(self, path: Path, *, alone: bool, sign: Path) -> None:
        self._spent: dict[str, float] = {}
        self._loaded = time.time()
        self._sign = sign
        self._phase, self._since = "wait", time.monotonic()
        self._show()
        self._lock = _opened(path)
        self._gate = _opened(path.with_name(f"{path.name}.gate"))
        self._alone = alone
        self._tuning = False
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        self._enter("set_up")

    @property
    def shared(self) -> bool:
        """Return whether others may work on the GPU now."""
        return self._phase == "set_up" and not self._alone

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Wait until nobody else sets up or measures, then keep them out and measure."""
        self._be_alone()
        self._enter("measure")
        try:
            yield
        finally:
            self._tuning = False
            self._share()

    def tune(self) -> None:
        """Wait until nobody else sets up or measures; keep them out until ``end_tuning``."""
        if self.shared:
            self._be_alone()
            self._tuning = True
            self._enter("tune")

    def end_tuning(self) -> None:
        """Let others set up again, if ``tune`` kept them out."""
        if self._tuning:
            self._tuning = False
            self._share()

    def leave(self) -> None:
        """Let everybody else have the GPU: this process does nothing on it any more."""
        self._enter("finish")
        for file in (self._lock, self._gate):
            fcntl.flock(file, fcntl.LOCK_UN)

    def end(self) -> dict[str, Any]:
        """Return when this turn was asked for and ended (epoch seconds), and seconds by phase."""
        self._enter("finish")
        return {"loaded": self._loaded, "ended": time.time(), "spent": self._spent}

    def _be_alone(self) -> None:
        if self._alone or self._tuning:
            return
        self._enter("wait")
        # Let go first: whoever wants to be alone waits for us.
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        fcntl.flock(self._gate, fcntl.LOCK_SH)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _share(self) -> None:
        if not self._alone:
            self._enter("wait")
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            fcntl.flock(self._gate, fcntl.LOCK_UN)
        self._enter("set_up")

    def _enter(self, phase: str) -> None:
        now = time.monotonic()
        self._spent[self._phase] = self._spent.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now
        self._show()

    def _show(self) -> None:
        with contextlib.suppress(OSError):
            if self._phase == "wait":
                self._sign.mkdir()
            else:
                self._sign.rmdir()


def _opened(path: Path) -> IO[str]:
    """Open for writing, as a lock on NFS needs; a container sees the folder read only."""
    try:
        return path.open("a")
    except OSError:
        return path.open()
