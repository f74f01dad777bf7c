"""Files a workload may leave: regular ones with plain names, so many and so large, nothing else.

A workload is not trusted: it may leave links to files of the host, FIFOs that block whoever opens
them, or more than the disk holds. So it writes into a folder of its own, below the cell's, which a
container does not see: there lie the log and the records. When nothing of the workload runs any
more, its files are moved up, each by an open folder, never by a path that could lead elsewhere.
"""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from harness.engines.engine import MOST_OUTPUT_BYTES
from harness.ground import files
from harness.probe.names import WAITING
from harness.store import run_folder

OUT = "out"
"""The folder that a workload writes, below its cell's."""

LOG, EXPORT_LOG = "log.txt", "export.txt"
"""The logs of the workload's process and of the profiler's exports."""

MOST_FILES = 4096
TOLD = 3
"""Files that are named, of those refused."""

_DEEPEST = 16
_LEAST_FREE_BYTES = 1 << 30
_OWN = (run_folder.RECORD, LOG, EXPORT_LOG)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Output:
    """The folder that one attempt at a cell writes, below the cell's own."""

    def __init__(self, cell: Path) -> None:
        self.folder = cell / OUT
        self._cell = cell
        self.folder.mkdir()
        # A tenth of what was free, where that is little: a full disk is told in its own words.
        self._least_free = min(_LEAST_FREE_BYTES, shutil.disk_usage(cell).free // 10)

    def excess(self) -> str:
        """Return why the workload has to end, "" while it keeps within its bounds."""
        entries = total = 0
        try:
            for status in _below(self.folder):
                entries += 1
                total += max(status.st_size, 512 * status.st_blocks)
                if entries > MOST_FILES:
                    return f"its output is more than {MOST_FILES} files"
                if total > MOST_OUTPUT_BYTES:
                    return f"its output is more than {MOST_OUTPUT_BYTES / 2**30:.3g} GiB"
            if shutil.disk_usage(self._cell).free < self._least_free:
                return f"it left less than {self._least_free / 2**30:.2g} GiB free on the disk"
        except OSError as error:
            return f"its output cannot be looked into: {error.strerror}"
        return ""

    def waits(self) -> bool:
        """Return whether the workload says that it waits for its turn on the GPU."""
        with contextlib.suppress(OSError):
            return stat.S_ISDIR(os.lstat(self.folder / WAITING).st_mode)
        return False

    def irregular(self) -> str:
        """Return the files that cannot be taken, with the reasons, "" if all can."""
        try:
            with _opened(self.folder) as folder:
                refused = self._looked_at(folder)
        except OSError as error:
            return f"its output cannot be looked into: {error.strerror}"
        told = [f"{ascii(name)[:80]} ({why})" for name, why in refused.items() if why]
        if not told:
            return ""
        listed = ", ".join(told[:TOLD]) + (" …" if len(told) > TOLD else "")
        return f"its output holds {listed}: only regular files with plain names are taken"

    def collect(self) -> str:
        """Move the files that can be taken into the cell's folder, and remove the rest.

        Return the refused files, with the reasons, "" if there are none. Folders are no artifacts
        and go untold. Of an output beyond its bounds nothing is taken.
        """
        refused = self.excess()
        if not refused:
            refused = self.irregular()
            with contextlib.suppress(OSError), _opened(self.folder) as folder:
                for name, why in self._looked_at(folder).items():
                    if not why:
                        self._take(name, folder)
        files.remove(self.folder)
        return refused

    def _looked_at(self, folder: int) -> dict[str, str]:
        """Return why each file of the output is refused, "" if it is not, by name."""
        return {name: self._refused(name, folder) for name in sorted(os.listdir(folder))}

    def _refused(self, name: str, folder: int) -> str:
        """Return why a file of the output is not taken, "" if it is, or is a folder."""
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return ""
        if odd := files.oddity(status.st_mode):
            return odd
        if status.st_nlink > 1:
            return "a hard link"
        if not files.is_safe(name):
            return "no plain name"
        if name in _OWN or os.path.lexists(self._cell / name):
            return "a name of the harness"
        try:
            os.close(os.open(name, _FILE, dir_fd=folder))
        except OSError as error:
            return f"not readable: {error.strerror}"
        return ""

    def _take(self, name: str, folder: int) -> None:
        """Move a file up, where it is the harness's own; a folder stays."""
        with contextlib.ExitStack() as stack:
            file = os.open(name, _FILE, dir_fd=folder)
            stack.callback(os.close, file)
            if stat.S_ISDIR(os.fstat(file).st_mode):
                return
            cell = stack.enter_context(_opened(self._cell))
            os.rename(name, name, src_dir_fd=folder, dst_dir_fd=cell)
            ours, moved = os.fstat(file), os.stat(name, dir_fd=cell, follow_symlinks=False)
            if ours.st_nlink > 1 or not os.path.samestat(ours, moved):
                os.unlink(name, dir_fd=cell)  # replaced in between: something of it still runs
                return
            os.fchmod(file, 0o644)
            if ours.st_uid != os.getuid():
                os.fchown(file, os.getuid(), os.getgid())


def _below(folder: Path) -> Iterator[os.stat_result]:
    """Yield what each file and folder below a folder is; OSError if one cannot be looked into."""
    with _opened(folder) as top:
        yield from _entries(top, _DEEPEST)


def _entries(folder: int, levels: int) -> Iterator[os.stat_result]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                status = entry.stat(follow_symlinks=False)
                yield status
                if stat.S_ISDIR(status.st_mode):
                    if not levels:
                        raise OSError(errno.ELOOP, f"folders below {_DEEPEST} others")
                    with _opened(entry.name, folder) as inner:
                        yield from _entries(inner, levels - 1)


@contextlib.contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    """Yield a descriptor of a folder that is no link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
