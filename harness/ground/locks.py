"""Locks between processes: a file that one of them holds, which the kernel frees when it ends.

`lslocks` shows them. Containers share one if they mount its folder.
"""

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from pathlib import Path

from harness.ground import maker

_KINDS = (errno.ELOOP, errno.EISDIR, errno.ENXIO)
"""What opening a link, a folder or a socket fails with."""
_LOCKS = Path("/proc/locks")


_lasting: set[int] = set()


def take(path: Path, mode: int = 0o644, *, lasting: bool = False) -> int | None:
    """Return the descriptor of a lock that is held until ``free``, None if another holds it.

    The file is made with ``mode``, whatever the umask; a link is not followed. If we are killed, a
    ``lasting`` lock holds until all programs that ``ground.process`` started have ended, too.
    Raises OSError if the file cannot be made, opened or locked.
    """
    try:
        descriptor = _locked(path, mode, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    if lasting:
        _lasting.add(descriptor)
    return descriptor


def wait_for(path: Path) -> int:
    """Return the descriptor of a lock, once no other process holds it; OSError as ``take``."""
    return _locked(path, 0o644, fcntl.LOCK_EX)


def free(descriptor: int) -> None:
    """Free a lock that was taken, also where a process that we started still has its descriptor."""
    _lasting.discard(descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def lasting() -> tuple[int, ...]:
    """Return the descriptors of the lasting locks that we hold, for the wardens of programs."""
    return tuple(_lasting)


def holder(path: Path) -> int | None:
    """Return the process that took the lock, None if none holds it or this system does not tell.

    None as well if that process has ended and a warden still holds a lasting lock.
    """
    with contextlib.suppress(OSError):
        file = path.stat(follow_symlinks=False)
        device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF
        rows = [row.split() for row in _LOCKS.read_text(encoding="ascii").splitlines()]
        places = {row[5]: row[4] for row in rows if row[1] == "FLOCK"}
        # btrfs names another device there than stat does.
        others = [place for place in places if place.endswith(f":{file.st_ino}")]
        place = f"{device}:{file.st_ino}"
        if place not in places and len(others) == 1:
            (place,) = others
        process = int(places.get(place, 0))
        return process if maker.start(process) else None
    return None


def _locked(path: Path, mode: int, operation: int) -> int:
    while True:
        descriptor = _opened(path, mode)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a plain file")
            fcntl.flock(descriptor, operation)
            if _stands(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # removed meanwhile: others would lock the next file of that name


def _opened(path: Path, mode: int) -> int:
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            return os.open(path, os.O_RDWR | flags)  # not O_CREAT: see fs.protected_regular
        except FileNotFoundError:
            _make(path, mode)
        except PermissionError:
            return os.open(path, os.O_RDONLY | flags)  # enough, except on NFS
        except OSError as error:
            if error.errno in _KINDS:
                raise OSError(error.errno, "not a plain file") from None
            raise


def _make(path: Path, mode: int) -> None:
    """Make an empty file, unless another process just did: it has its mode when it appears."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.fchmod(descriptor, mode)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.close(descriptor)
        Path(temporary).unlink()


def _stands(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    return False
