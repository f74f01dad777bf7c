"""The machine's lock on a GPU, which one run of any user holds at a time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness import files, locks
from harness.errors import ToolError

FOLDER = Path("/tmp")  # noqa: S108 - the same for all users, whatever their TMPDIR
_FOR_EVERYBODY = 0o666


@contextlib.contextmanager
def held(name: str) -> Iterator[None]:
    """Hold the lock of the GPU ``name`` (its UUID, or "cpu"); the kernel frees it if we are killed.

    Raises ToolError if another run holds it, or if the lock's file cannot be made or opened.
    """
    path = FOLDER / f"harness-{files.safe_name(name)}.lock"
    try:
        descriptor = locks.take(path, _FOR_EVERYBODY)
    except OSError as error:
        raise ToolError(
            f"the lock of {name} cannot be taken: {error.strerror}",
            where=path,
            remedy=f"as root, while no run goes on: rm -f {path}; install -d -m 1777 {FOLDER}",
        ) from None
    if descriptor is None:
        process = locks.holder(path)
        who = f", process {process}," if process else ""
        raise ToolError(f"another run{who} holds {name}", remedy="wait for it to end, or stop it")
    try:
        yield
    finally:
        locks.free(descriptor)
