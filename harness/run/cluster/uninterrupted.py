"""A moment that Ctrl-C does not cut in two: it takes effect when the moment is over."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from harness.ground.endings import ENDINGS


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back the signals that end a run until the block has ended; of the main thread alone.

    Programs that the block starts do not get them either: a terminal sends Ctrl-C to all.
    """
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in ENDINGS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
    for number in handlers:
        signal.signal(number, note)  # another thread may take the signal
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])
