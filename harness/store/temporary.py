"""Temporary folders of cells, at short paths.

Python's multiprocessing makes sockets below TMPDIR, and the path of a socket has 107 bytes at most
(``unix(7)``): a folder deep in a run leaves too few. So a run holds a link to the folder, by which
a later harness removes what a killed one left.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.ground import files

_PREFIX = "worklogs-"


@contextlib.contextmanager
def folder(link: Path) -> Iterator[None]:
    """Make an empty temporary folder and a link to it, and remove both afterwards."""
    remove(link)
    with files.writing(link):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        yield
    finally:
        remove(link)


def remove(path: Path) -> None:
    """Remove a file or folder; of a link to a cell's temporary folder, that folder too."""
    with contextlib.suppress(OSError):
        target = path.readlink()
        if target.name.startswith(_PREFIX) and target.lstat().st_uid == os.getuid():
            files.remove(target)
    files.remove(path)
