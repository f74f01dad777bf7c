"""Signals that end a program."""

import signal

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def heeded() -> tuple[signal.Signals, ...]:
    """Return those that are not ignored, as SIGHUP is under nohup."""
    return tuple(each for each in ENDINGS if signal.getsignal(each) != signal.SIG_IGN)
