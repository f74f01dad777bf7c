"""The only writer: a file or folder either stands whole under its name or not at all."""

import contextlib
import errno
import hashlib
import io
import os
import re
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.ground import json_text, maker
from harness.ground.errors import DiskFullError, StoreError, UsageError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk, and of a full share of it."""
_REMEDIES = {
    **dict.fromkeys(FULL, "free some room"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"
    ),
    errno.EISDIR: "name a file in it",
}

_MOST_JSON_BYTES = 16 << 20
"""Bytes of the largest record that is read; the largest one published has 1.4 MB."""

_HEAD_BYTES = 4096
"""What tells an output of ours from another file."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,149}")


def safe_name(name: str) -> str:
    """Return ``name`` if it can be one path component on every file system, else refuse it."""
    if not is_safe(name):
        raise UsageError(
            f"{name!r} cannot be a file name",
            remedy="use up to 150 letters, digits and '._+-', the first a letter or digit",
        )
    return name


def is_safe(name: str) -> bool:
    """Return whether ``name`` can be one path component on every file system."""
    return bool(_SAFE_NAME.fullmatch(name))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; the file written there takes its place at the end.

    On any error the temporary file goes and ``target`` stays as it was.
    """
    _check_replaceable(target)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target.parent)
        handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
        temporary = Path(name)
        try:
            os.close(handle)
            yield temporary
            _sync(temporary)
            temporary.chmod(0o644)
            temporary.replace(target)
            _sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _check_replaceable(target: Path) -> None:
    """Raise StoreError for a device, FIFO or socket: root could put a file in its place."""
    with contextlib.suppress(OSError):
        mode = target.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
            raise StoreError(f"not written: {oddity(mode)}, not a regular file", where=target)


def check_output(target: Path, kind: str, is_ours: Callable[[bytes], bool]) -> None:
    """Refuse to write ``target`` where another file would be lost, such as the input.

    A file is replaced if it is empty, or if ``is_ours`` says of its first 4096 bytes that it is of
    the ``kind`` that is written. Raises UsageError for another one, StoreError for a folder.
    """
    if target.is_dir():
        raise not_written(target, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if not target.is_file():
        return
    with writing(target), target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and not is_ours(head):
        raise _in_the_way(target, kind)


def check_output_folder(target: Path, kind: str, mark: str) -> None:
    """Raise UsageError if ``target`` is a file, or a folder that holds something but not ``mark``.

    ``kind`` is what the folder would hold with a file ``mark``.
    """
    taken = target.is_file() or (target.is_dir() and any(target.iterdir()))
    if taken and not (target / mark).is_file():
        raise _in_the_way(target, kind)


def _in_the_way(target: Path, kind: str) -> UsageError:
    what = f"not written: it is there already, and is not {kind}"
    return UsageError(what, where=target, remedy="choose another name")


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn an OSError within into a StoreError: ``target`` is not written, and why."""
    try:
        yield
    except OSError as error:
        raise not_written(target, error) from error


@contextlib.contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside ``target``; it takes its place, whole, at the end.

    An older ``target`` changes places with it, and is deleted then.
    """
    with _folder_beside(target) as temporary:
        yield temporary
        temporary.chmod(0o755)
        if target.exists():
            _exchange(temporary, target)
        else:
            temporary.rename(target)


def check_writable(target: Path) -> None:
    """Raise StoreError if no folder can be made beside ``target``, before work for it begins."""
    with _folder_beside(target):
        pass


def filled_folder(target: Path, fill: Callable[[Path], None]) -> bool:
    """Make a folder that ``fill`` fills; it appears whole. False if another is there by then.

    Of several callers one makes it. Raises StoreError if it cannot be made.
    """
    with _folder_beside(target) as temporary:
        fill(temporary)
        temporary.chmod(0o755)
        try:
            temporary.rename(target)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return False
            raise
    return True


@contextlib.contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside ``target``, and remove it if it is there at the end.

    An OSError within becomes a StoreError.
    """
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target.parent)
        temporary = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            yield temporary
            _sync(target.parent)
        finally:
            remove(temporary)


def write_text(target: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def append_line(target: Path, line: str) -> None:
    """Append a line to a file that one process at a time writes; the file need not exist."""
    with writing(target), target.open("a", encoding="utf-8", newline="\n") as file:
        file.write(f"{line}\n")


def write_json(target: Path, value: Mapping[str, object], *, dense: bool = False) -> None:
    """Write ``value`` as sealed JSON, indented or ``dense``, atomically.

    Raises StoreError for a value that would not be read again, such as NaN.
    """
    for mistake in json_text.mistakes(value):
        raise StoreError(f"not written: {mistake}", where=target)
    write_text(target, json_text.sealed(value, dense=dense))


def read_json(path: Path, *, unsealed: bool = False) -> dict[str, Any]:
    """Read a JSON object that this project wrote; ``unsealed``: also one without a seal.

    Raises StoreError for a file that is missing, irregular, changed since it was written, over
    16 MiB, no JSON, or holds a value that no record can hold, such as NaN.
    """
    with regular(path) as file:
        data = file.read(_MOST_JSON_BYTES + 1)
    try:
        if len(data) > _MOST_JSON_BYTES:
            raise ValueError(f"more than {_MOST_JSON_BYTES >> 20} MiB")
        value = json_text.parsed(data)
        if not unsealed and not json_text.has_seal(data):
            raise ValueError(
                "its sha256 is missing: an earlier harness wrote it, or another program"
            )
    except ValueError as error:
        raise StoreError(str(error), where=path) from None
    return value


def is_sealed(path: Path) -> bool:
    """Return whether a JSON file has a seal, which an earlier harness did not write."""
    with regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 200))
        return json_text.has_seal(file.read())


def oddity(mode: int) -> str:
    """Return what a file of this mode is instead of a regular file, "" for a regular one."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO"}
    kinds |= {stat.S_IFREG: "", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def regular(path: Path) -> io.BufferedReader:
    """Open a file to which a workload or a stranger had access, without following or waiting.

    Raises StoreError if it is missing, unreadable or no regular file: a link leads to a file of
    somebody else, a FIFO blocks, and a device has no end.
    """
    try:
        odd = oddity(path.lstat().st_mode)
        if not odd:
            file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
            if odd := oddity(os.fstat(file.fileno()).st_mode):  # as it was replaced since
                file.close()
    except FileNotFoundError:
        raise StoreError("no such file", where=path) from None
    except OSError as error:
        raise StoreError(f"not readable: {error.strerror}", where=path) from error
    if odd:
        raise StoreError(f"{odd}, not a regular file", where=path)
    return file


def remove(path: Path) -> None:
    """Remove a file or a folder, whatever its modes and however deep; what cannot go, stays.

    Nested folders are moved up before they are emptied, so that no depth exhausts the stack, the
    open files or the length of a path.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        path.chmod(0o700)
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            folders = _without_files(top, top)
            while folders:
                folders += _without_folder(folders.pop(), top)
        finally:
            os.close(top)
        path.rmdir()


def _without_folder(name: str, top: int) -> list[str]:
    """Remove a folder in ``top``; return the names in ``top`` that its folders have now."""
    folders: list[str] = []
    with contextlib.suppress(OSError):
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
        try:
            folders = _without_files(folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
    return folders


def _without_files(folder: int, top: int) -> list[str]:
    """Remove a folder's files, move its folders to ``top``, and return their names there."""
    folders = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=folder)
                continue
            os.chmod(name, 0o700, dir_fd=folder)
            moved = uuid.uuid4().hex
            os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)
            folders.append(moved)
    return folders


def not_written(target: Path, error: OSError) -> StoreError:
    """Return the error that says why ``target`` is not written."""
    reason = error.strerror or str(error)
    elsewhere = error.filename and target.absolute().parent not in Path(error.filename).parents
    kind = DiskFullError if error.errno in FULL else StoreError
    return kind(
        f"not written: {reason}: {error.filename}" if elsewhere else f"not written: {reason}",
        where=target,
        remedy=_REMEDIES.get(error.errno or 0, ""),
    )


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}.{maker.name()}."


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed left half-written in a folder."""
    for path in folder.glob(".*.*.*"):
        if maker.has_ended(path.name.split(".")[-2]):
            remove(path)


def _exchange(new: Path, old: Path) -> None:
    """Let two folders change places, at once where the file system can (renameat2(2))."""
    import ctypes

    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    change = getattr(ctypes.CDLL(None), "renameat2", lambda *_: -1)
    if change(here, os.fsencode(new), here, os.fsencode(old), exchange) == 0:
        return
    aside = new.with_name(f"{new.name}-old")
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    aside.rename(new)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
