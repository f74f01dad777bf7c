"""The machine's lock on a GPU, which one run of any user holds at a time."""

import contextlib
import errno
import time
from collections.abc import Iterator
from pathlib import Path

from harness.ground import files, locks
from harness.ground.errors import BusyError, ToolError

FOLDER = Path("/tmp")  # noqa: S108 - the same for all users, whatever their TMPDIR
_FOR_EVERYBODY = 0o666
_ENDED_WITHIN_S = 10.0  # a warden takes half of that
_LOOK_S = 0.05


@contextlib.contextmanager
def held(name: str) -> Iterator[None]:
    """Hold the lock of the GPU ``name``: its UUID, or "cpu".

    If we are killed, the kernel frees the lock once the wardens have ended what we started. Until
    then others wait, ten seconds at most. Raises BusyError if another run holds the lock, ToolError
    if its file cannot be made or opened.
    """
    path = FOLDER / f"harness-{files.safe_name(name)}.lock"
    until = time.monotonic() + _ENDED_WITHIN_S
    while (descriptor := _taken(name, path)) is None:
        process = locks.holder(path)
        if process or time.monotonic() > until:
            who = f", process {process}," if process else ""
            remedy = "wait for it to end, or stop it"
            raise BusyError(f"another run{who} holds {name}", remedy=remedy)
        time.sleep(_LOOK_S)
    try:
        yield
    finally:
        locks.free(descriptor)


def _taken(name: str, path: Path) -> int | None:
    try:
        return locks.take(path, _FOR_EVERYBODY, lasting=True)
    except OSError as error:
        anew = f"as root, while no run goes on: rm -f {path}; install -d -m 1777 {FOLDER}"
        remedy = "free some room there" if error.errno == errno.ENOSPC else anew
        what = f"the lock of {name} cannot be taken: {error.strerror}"
        raise ToolError(what, where=path, remedy=remedy) from None
