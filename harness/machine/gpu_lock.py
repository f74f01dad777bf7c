"""The machine's lock on a GPU, which one run of any user holds at a time."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import files
from harness.errors import ToolError


@contextlib.contextmanager
def held(name: str) -> Iterator[None]:
    """Hold the lock of the GPU ``name`` (its UUID, or "cpu"); the kernel frees it if we are killed.

    Raises ToolError if another run holds it, or if the lock's file cannot be opened.
    """
    from filelock import FileLock, Timeout

    path = Path(tempfile.gettempdir()) / f"harness-{files.safe_name(name)}.lock"
    lock = FileLock(path, mode=0o666)  # other users of the machine open it, too
    try:
        with lock.acquire(timeout=0.1):
            yield
    except PermissionError as error:
        remedy = "another user made it: they may remove it when no run of theirs goes on"
        raise ToolError(f"not opened: {error.strerror}", where=path, remedy=remedy) from None
    except Timeout:
        raise ToolError(
            f"another run holds {name}", remedy="wait for it to end, or stop it"
        ) from None
