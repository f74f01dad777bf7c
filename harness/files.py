"""The only writer: a file or folder either stands whole under its name or not at all."""

import contextlib
import errno
import glob
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness import json_text, maker
from harness.errors import StoreError, UsageError

_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some room"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"
    ),
}

_MOST_JSON_BYTES = 32 << 20
"""Bytes of the largest record that is read; the largest one published has 1.4 MB."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,149}")


def safe_name(name: str) -> str:
    """Return ``name`` if it can be one path component on every file system, else refuse it."""
    if not _SAFE_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a file name",
            remedy="use up to 150 letters, digits and '._+-', the first a letter or digit",
        )
    return name


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; what is written there takes its place at the end.

    On any error the temporary file goes and ``target`` stays as it was.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise _not_written(target, error) from error
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise _not_written(target, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside ``target``; it takes its place, whole, at the end.

    An older ``target`` changes places with it, and is deleted then.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        temporary = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    except OSError as error:
        raise _not_written(target, error) from error
    try:
        yield temporary
        temporary.chmod(0o755)
        if target.exists():
            _exchange(temporary, target)
        else:
            temporary.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise _not_written(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there and as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def new_folder(target: Path) -> bool:
    """Make a folder and return True, or return False if it exists: of several callers one makes it.

    Raises StoreError if it cannot be made.
    """
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise _not_written(target, error) from error
    return True


def write_text(target: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(target: Path, value: Mapping[str, object]) -> None:
    """Write ``value`` as indented, sealed JSON, atomically; NaN and infinities are refused."""
    write_text(target, json_text.sealed(value))


def read_json(path: Path, *, unsealed: bool = False) -> dict[str, Any]:
    """Read a JSON object that this project wrote; ``unsealed``: also one without a seal.

    Raises StoreError for a file that is missing, changed since it was written, over 32 MB, no JSON,
    or holds a value that no record can hold, such as NaN.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_JSON_BYTES + 1)
        if len(data) > _MOST_JSON_BYTES:
            raise ValueError(f"more than {_MOST_JSON_BYTES >> 20} MiB")
        value = json_text.parsed(data)
        if not unsealed and not json_text.has_seal(data):
            raise ValueError("its sha256 is missing")
    except FileNotFoundError:
        raise StoreError("no such file", where=path) from None
    except OSError as error:
        raise StoreError(f"not readable: {error.strerror}", where=path) from error
    except ValueError as error:
        raise StoreError(str(error), where=path) from None
    return value


def is_sealed(path: Path) -> bool:
    """Return whether a JSON file has a seal, which an earlier harness did not write."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 200))
        return json_text.has_seal(file.read())


def _not_written(target: Path, error: OSError) -> StoreError:
    reason = error.strerror or str(error)
    elsewhere = error.filename and target.parent not in Path(error.filename).parents
    return StoreError(
        f"not written: {reason}: {error.filename}" if elsewhere else f"not written: {reason}",
        where=target,
        remedy=_REMEDIES.get(error.errno or 0, ""),
    )


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}.{maker.name()}."


def _remove_leftovers(target: Path) -> None:
    """Remove what makers of ``target`` left half-written when they were killed."""
    for path in target.parent.glob(f".{glob.escape(target.name[:100])}.*"):
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
