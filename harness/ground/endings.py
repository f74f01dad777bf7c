"""Signals that end a program, and moments that they do not cut in two."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def heeded() -> tuple[signal.Signals, ...]:
    """Return those that are not ignored, as SIGHUP is under nohup."""
    return tuple(each for each in ENDINGS if signal.getsignal(each) != signal.SIG_IGN)


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
