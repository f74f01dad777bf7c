"""Captures by content: ``<store>/<first two digits>/<sha256>``, here and at a remote.

The local store (``.captures/`` in the checkout) is filled by publishing. A remote is a folder or
any URL that fsspec opens, with the same layout. Files never change under their name, so a file that
stands with the recorded size is not copied again. What a commit of this repository once held comes
out of its history as well.
"""

import contextlib
import hashlib
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from harness.ground import files, process
from harness.ground.errors import HarnessError, ToolError, UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from harness.evidence.capture_list import StoredFile

_BLOCK_BYTES = 1 << 20
_MOST_GIT_S = 300


@dataclass
class Transfer:
    """What became of each capture; with each missing capture stands the reason."""

    copied: list["StoredFile"] = field(default_factory=list)
    already_there: list["StoredFile"] = field(default_factory=list)
    missing: list[tuple["StoredFile", str]] = field(default_factory=list)


def relative(sha256: str) -> str:
    """Return the path of a file inside any store."""
    return f"{sha256[:2]}/{sha256}"


def add(store: Path, source: Path, sha256: str) -> None:
    """Copy ``source``, whose sha256 is given, into the local store."""
    place = store / relative(sha256)
    with files.atomic_file(place) as temporary:
        shutil.copyfile(source, temporary)


def push(captures: Iterable["StoredFile"], store: Path, destination: str) -> Transfer:
    """Copy captures from the local store to ``destination``; each is read back and checked.

    Raises UsageError if fsspec cannot open ``destination``, ToolError if writing to it fails.
    """
    system, root = _opened(destination)
    transfer = Transfer()
    for capture in captures:
        remote = f"{root}/{relative(capture.sha256)}"
        local = store / relative(capture.sha256)
        with _reported(destination):
            if _size(system, remote) == capture.bytes:
                transfer.already_there.append(capture)
            elif reason := _differs(local, capture):
                reason = f"{reason} in {store}, and not at {destination}"
                transfer.missing.append((capture, reason))
            else:
                _upload(system, local, remote, capture.sha256)
                transfer.copied.append(capture)
    return transfer


def fetch(captures: Iterable["StoredFile"], source: str, store: Path) -> Transfer:
    """Copy captures from ``source`` into the local store; size and sha256 are checked on arrival.

    Raises UsageError if fsspec cannot open ``source``, ToolError if reading from it fails.
    """
    system, root = _opened(source)
    if "file" in _protocols(system) and not system.isdir(root):
        raise UsageError("no such folder", where=source)
    transfer = Transfer()
    for capture in captures:
        if not _differs(store / relative(capture.sha256), capture):
            transfer.already_there.append(capture)
            continue
        with _reported(source):
            reason = _download(system, f"{root}/{relative(capture.sha256)}", store, capture)
        if reason:
            transfer.missing.append((capture, f"{reason} at {source}"))
        else:
            transfer.copied.append(capture)
    return transfer


def fetch_from_history(captures: Iterable["StoredFile"], checkout: Path, store: Path) -> Transfer:
    """Copy captures that a commit once held from git's history into the local store, checked.

    Raises ToolError if git cannot start.
    """
    transfer = Transfer()
    for capture in captures:
        if not _differs(store / relative(capture.sha256), capture):
            transfer.already_there.append(capture)
        elif reason := _out_of_history(capture, checkout, store):
            transfer.missing.append((capture, reason))
        else:
            transfer.copied.append(capture)
    return transfer


def _out_of_history(capture: "StoredFile", checkout: Path, store: Path) -> str:
    """Take one file out of git's history; return why it could not be taken, empty if it was."""
    if capture.git_blob is None:
        return "git never held it: name a store that does"
    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        arrived = Path(scratch) / "arrived"
        # A partial clone fetches the content now; any owner's clone is read.
        argv = ["git", "-c", "safe.directory=*", "cat-file", "blob", capture.git_blob]
        env = process.environment({})
        done = process.run(argv, cwd=checkout, env=env, log=arrived, deadline_s=_MOST_GIT_S)
        if done.status != "ok":
            return f"not in this clone's history (git fetch --unshallow): {done.detail}"
        if reason := _differs(arrived, capture):
            return reason
        add(store, arrived, capture.sha256)
    return ""


def _opened(url: str) -> "tuple[AbstractFileSystem, str]":
    from fsspec.core import url_to_fs

    try:
        system, root = url_to_fs(url)
    except (ImportError, ValueError, OSError) as error:
        remedy = "name a folder, or a URL whose fsspec package is installed"
        raise UsageError(
            f"not a place to keep captures: {error}", where=url, remedy=remedy
        ) from error
    return system, str(root).rstrip("/")


def _protocols(system: "AbstractFileSystem") -> tuple[str, ...]:
    protocol = system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


@contextlib.contextmanager
def _reported(url: str) -> Iterator[None]:
    """Turn any failure of a file system into a ToolError: each raises errors of its own."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        what = f"copying failed: {type(error).__name__}: {error}"
        raise ToolError(what, where=url, remedy="what is complete stays; try again") from error


def _size(system: "AbstractFileSystem", remote: str) -> int | None:
    """Return a remote file's size in bytes, None if it is missing or of unknown size."""
    try:
        size = system.info(remote)["size"]
    except FileNotFoundError:
        return None
    return None if size is None else int(size)


def _upload(system: "AbstractFileSystem", local: Path, remote: str, sha256: str) -> None:
    """Write under a temporary name, read back, then rename: no partial file takes the place."""
    parent = remote.rpartition("/")[0]
    temporary = f"{parent}/.{uuid.uuid4().hex}.part"
    system.makedirs(parent, exist_ok=True)
    try:
        system.put_file(str(local), temporary)
        with system.open(temporary, "rb") as arrived:
            if hashlib.file_digest(arrived, "sha256").hexdigest() != sha256:
                raise OSError("the copy differs from the file that was sent")
        system.mv(temporary, remote)
    except BaseException:
        with contextlib.suppress(Exception):
            system.rm_file(temporary)
        raise


def _download(system: "AbstractFileSystem", remote: str, store: Path, capture: "StoredFile") -> str:
    """Fetch one file into the store; return why it could not be taken, empty if it was."""
    if reason := _unfetchable(system, remote, store, capture.bytes):
        return reason
    with (
        system.open(remote, "rb") as remote_file,
        tempfile.TemporaryDirectory(prefix="capture-") as scratch,
    ):
        arrived = Path(scratch) / "arrived"
        _copy_at_most(remote_file, arrived, capture.bytes + 1)
        if reason := _differs(arrived, capture):
            return reason
        add(store, arrived, capture.sha256)
    return ""


def _unfetchable(system: "AbstractFileSystem", remote: str, store: Path, size: int) -> str:
    """Return why a remote file is not to be opened, empty if it may be.

    A FIFO blocks, a device has no end, and a list may claim more than any disk holds.
    """
    try:
        status = system.info(remote)
    except FileNotFoundError:
        return "missing"
    if status["type"] != "file" or not ("mode" not in status or stat.S_ISREG(status["mode"])):
        return "not a regular file"
    if status["size"] not in (None, size):
        return f"size is not the recorded {size} bytes"
    for folder in (Path(tempfile.gettempdir()), store):
        free = shutil.disk_usage(next(part for part in (folder, *folder.parents) if part.exists()))
        if free.free < size:
            return f"no room for its {size} bytes in {folder}, and not fetched: it is"
    return ""


def _copy_at_most(source: IO[bytes], target: Path, limit: int) -> None:
    """Copy up to ``limit`` bytes: a remote file may be larger than any disk."""
    with target.open("wb") as file:
        while limit > 0 and (block := source.read(min(limit, _BLOCK_BYTES))):
            file.write(block)
            limit -= len(block)


def _differs(path: Path, capture: "StoredFile") -> str:
    """Return the difference of a local file from its record, "" if there is none."""
    if not path.is_file():
        return "missing"
    if path.stat().st_size != capture.bytes:
        return f"size is not the recorded {capture.bytes} bytes"
    if files.sha256(path) != capture.sha256:
        return "sha256 is not the recorded one"
    return ""
