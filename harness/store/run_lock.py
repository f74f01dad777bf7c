"""The lock of a run's folder, which one harness holds at a time, and the token of its processes."""

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from harness.ground import locks
from harness.ground.errors import StoreError

FILE = "lock"
"""The lock's name in a run's folder; it holds the run's token."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[str]:
    """Hold the run in ``folder``; yield its token, which every process of its cells carries.

    A run keeps its token from harness to harness: a process with the token that the lock's holder
    did not start is left of an earlier harness. A copied folder is another run. Raises StoreError
    if another harness holds the lock, or if it cannot be taken.
    """
    path = folder / FILE
    descriptor = None
    try:
        descriptor = locks.take(path)
        token = "" if descriptor is None else _token(descriptor)
    except OSError as error:
        if descriptor is not None:
            locks.free(descriptor)
        remedy = "keep runs where you may write, on a file system that has locks"
        what = f"the run cannot be locked: {error.strerror}"
        raise StoreError(what, where=path, remedy=remedy) from None
    if descriptor is None:
        process = locks.holder(path)
        who = f", process {process}," if process else ""
        raise StoreError(
            f"another harness{who} executes this run",
            where=folder,
            remedy="wait for it to end, or stop it",
        )
    try:
        yield token
    finally:
        locks.free(descriptor)


def _token(descriptor: int) -> str:
    """Return the token in a lock's file; a new one if the file is new, damaged or a copy."""
    inode = os.fstat(descriptor).st_ino  # a copy has another
    text = os.pread(descriptor, 100, 0).decode("ascii", "replace")
    if re.fullmatch(rf"[0-9a-f]{{32}}-{inode:x}", text):
        return text
    token = f"{uuid.uuid4().hex}-{inode:x}"
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, token.encode(), 0)
    return token
