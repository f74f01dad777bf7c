"""Recognises a capture's kind by its content, and unpacks the file for the kind's reader."""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.captures.formats.compressed import blocks
from harness.evidence.kind import Format, Kind
from harness.evidence.kinds import by_cost
from harness.ground.errors import CaptureError, ToolError

_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_HEAD_BYTES = 4096

_FOREIGN = {
    re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:'): "rocprofv3's own JSON",
}
"""First bytes of captures that no kind reads, and what they are."""

Recognised = tuple[Kind, Format]


@contextlib.contextmanager
def opened(path: Path, *, form: Format | None = None) -> Iterator[Path]:
    """Yield the path that the reader of ``path``'s kind can open, for as long as it is read.

    That is ``path`` itself if it is not compressed, or if the kind's reader unpacks as it goes.
    Otherwise it is unpacked into a private temporary folder; a format that needs an export is
    exported there. ``form`` is the file's format if it was sniffed before. Raises CaptureError if
    ``path`` is not a capture, is damaged or unpacks to more than its budget, ToolError if an
    export's program is absent or fails.
    """
    format_ = form or recognised(path)[1]
    compressed = _is_compressed(path)
    if format_.export is None and (format_.unpacks_itself or not compressed):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        plain = path.resolve()
        if compressed:
            plain = folder / format_.plain_name
            _unpack(path, plain)
        yield format_.export(path, plain, folder) if format_.export else plain


def recognised(path: Path) -> Recognised:
    """Return kind and format of the capture at ``path``, by what it holds, not by its name.

    Raises CaptureError if it is missing, no regular file, empty, unreadable or of no known kind.
    """
    head = next(blocks(path, _HEAD_BYTES), b"")
    if not head:
        raise CaptureError("empty file", where=path)
    for signature, name in _FOREIGN.items():
        if signature.match(head):
            raise CaptureError(
                f"{name} is not read",
                where=path,
                remedy="of an AMD GPU, a trace of torch.profiler is",
            )
    formats = [(kind, format_) for kind in by_cost() for format_ in kind.formats]
    for kind, format_ in sorted(formats, key=lambda pair: pair[1].vague):
        if format_.signature.match(head):
            return kind, format_
    titles = [kind.title for kind in by_cost() if kind.formats]
    raise CaptureError(
        "not a capture",
        where=path,
        remedy=f"readable are {', '.join(titles[:-1])} and {titles[-1]}, each plain or in gzip or"
        " zstd",
    )


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith((_ZSTD, _GZIP))


def _unpack(path: Path, plain: Path) -> None:
    """Write the unpacked content of ``path`` to ``plain``, which does not exist yet."""
    try:
        with plain.open("xb") as file:
            for block in blocks(path, 1 << 20):
                file.write(block)
    except OSError as error:
        raise ToolError(
            f"cannot be unpacked into {plain.parent}: {error.strerror}",
            where=path,
            remedy="free some room there or set TMPDIR",
        ) from error
