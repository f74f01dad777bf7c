"""Limits of what a template takes by itself: CPU time, and memory beyond what is in use."""

import contextlib
import resource
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Self

from harness.ground import confined_server

CPU_S = 5.0
"""Seconds of CPU time for a page, without its sections."""
MEMORY = 1 << 30
"""Bytes."""


class LateError(Exception):
    """A page has spent its CPU time."""


class RenderLimits:
    """Limits in force from ``with`` to its end, but for each :meth:`pause`.

    They hold where Python runs: a page whose one operation is endless ends with its command
    (:mod:`harness.ground.bounded`).
    """

    def __enter__(self) -> Self:
        self._left = CPU_S
        self._handler = signal.signal(signal.SIGPROF, _late)
        self._memory = resource.getrlimit(resource.RLIMIT_DATA)
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        signal.signal(signal.SIGPROF, self._handler)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Lift the limits for what is not a template's; the time that was left goes on then."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    @contextlib.contextmanager
    def resume(self) -> Iterator[None]:
        """Put the limits in force again, within a pause."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    def _start(self) -> None:
        soft, hard = self._memory
        most = confined_server.data_bytes() + MEMORY
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
        signal.setitimer(signal.ITIMER_PROF, self._left)  # none if it is spent: that was told

    def _stop(self) -> None:
        self._left = signal.setitimer(signal.ITIMER_PROF, 0)[0]
        resource.setrlimit(resource.RLIMIT_DATA, self._memory)


def _late(_number: int, _frame: FrameType | None) -> None:
    raise LateError
