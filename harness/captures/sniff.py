"""What kind of capture a file is, from its content, and that file as its reader can open it."""

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from harness.captures.formats.compressed import blocks
from harness.errors import CaptureError, ToolError

Kind = Literal["nsys", "nsys-rep", "torch", "ncu", "memory"]

_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_HEAD_BYTES = 4096
_MOST_BYTES = 16 << 30  # of what a compressed capture may unpack to
_EXPORT_DEADLINE_S = 600.0

_SIGNATURES: tuple[tuple[Kind, re.Pattern[bytes]], ...] = (
    ("nsys", re.compile(rb"SQLite format 3\0")),
    ("nsys-rep", re.compile(rb"NVIDIA Tegra Profiler Report")),
    ("ncu", re.compile(rb"NVR\0")),
    ("memory", re.compile(rb"\x80[\x02-\x05]")),  # torch's snapshot: a pickle of protocol 2 to 5
    ("memory", re.compile(rb'\s*\{\s*"(?:segments|device_traces|totals|phases)"')),
    ("torch", re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[{\]])')),
)
_NAMES: dict[Kind, str] = {
    "nsys": "trace.sqlite",
    "nsys-rep": "trace.nsys-rep",
    "ncu": "counters.ncu-rep",
    "memory": "memory",
}
_READABLE = (
    "readable are an Nsight Systems export (.sqlite) or report (.nsys-rep), a torch.profiler trace"
    " (.json), an Nsight Compute report (.ncu-rep) and a torch memory snapshot (.pickle or .json),"
    " each plain or in gzip or zstd"
)


def kind_of(path: Path) -> Kind:
    """Return the kind of the capture at ``path``, by what it holds, not by its name.

    Raises CaptureError if it is missing, no regular file, empty, unreadable or of no known kind.
    """
    head = next(blocks(path, _HEAD_BYTES), b"")
    if not head:
        raise CaptureError("empty file", where=path)
    for kind, signature in _SIGNATURES:
        if signature.match(head):
            return kind
    raise CaptureError("not a capture", where=path, remedy=_READABLE)


@contextlib.contextmanager
def opened(path: Path, most_bytes: int = _MOST_BYTES) -> Iterator[Path]:
    """Yield the path that the reader of ``path``'s kind can open, for as long as it is read.

    That is ``path`` itself if it is not compressed, and for torch traces in any case: their reader
    unpacks as it goes. Otherwise it is unpacked into a private temporary folder; an ``.nsys-rep``
    is exported there with the ``nsys`` program. Raises CaptureError if ``path`` is not a capture,
    is damaged or unpacks to more than ``most_bytes``, ToolError if nsys is needed and fails.
    """
    kind = kind_of(path)
    if kind == "torch" or (kind != "nsys-rep" and not _is_compressed(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        plain = path.resolve()
        if _is_compressed(path):
            plain = folder / _NAMES[kind]
            _unpack(path, plain, most_bytes)
        yield _exported(path, plain, folder) if kind == "nsys-rep" else plain


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith((_ZSTD, _GZIP))


def _unpack(path: Path, plain: Path, most_bytes: int) -> None:
    """Write the unpacked content of ``path`` to ``plain``, which does not exist yet."""
    size = 0
    try:
        with plain.open("xb") as file:
            for block in blocks(path, 1 << 20):
                size += len(block)
                if size > most_bytes:
                    raise CaptureError(f"unpacks to more than {most_bytes} bytes", where=path)
                file.write(block)
    except OSError as error:
        raise ToolError(
            f"cannot be unpacked into {plain.parent}: {error.strerror}",
            where=path,
            remedy="free some room there or set TMPDIR",
        ) from error


def _exported(path: Path, report: Path, folder: Path) -> Path:
    """Return the SQLite export of an Nsight Systems report, made in ``folder``."""
    from harness import process

    remedy = "export it with `nsys export --type sqlite` where Nsight Systems is installed"
    if shutil.which("nsys") is None:
        raise ToolError(
            "reading an .nsys-rep needs the nsys program, which is not on PATH",
            where=path,
            remedy=f"{remedy}, or install it here",
        )
    export = folder / "export.sqlite"
    argv = ["nsys", "export", "--type=sqlite", f"--output={export}", str(report)]
    outcome = process.run(
        argv,
        cwd=folder,
        env=process.environment({}),
        log=folder / "nsys.log",
        deadline_s=_EXPORT_DEADLINE_S,
    )
    if outcome.status != "ok" or not export.exists():
        raise ToolError(
            f"nsys export: {outcome.status}: {outcome.detail}", where=path, remedy=remedy
        )
    return export
