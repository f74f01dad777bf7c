"""Reads a contributor's texts: a template, a part of it, a file of which a page shows lines."""

import os
import stat
from pathlib import Path

from harness.ground.errors import ManifestError

_MOST_BYTES = 1 << 20
"""Bytes of one file."""


def read(path: Path) -> str:
    """Return the text of a file that is no link, in UTF-8, of 1 MB at most; else ManifestError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        what = "is a link" if path.is_symlink() else f"not read: {reason}"
        raise ManifestError(what, where=path, remedy="put the file itself there") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ManifestError("is no file", where=path)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ManifestError(f"has more than {_MOST_BYTES >> 20} MB", where=path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(f"is no UTF-8 at byte {error.start}", where=path) from None
