"""Read a plain, gzip or zstd file as blocks of its content; told apart by their first bytes."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness.ground import confined
from harness.ground.errors import CaptureError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_STEP = 1 << 10
"""Compressed bytes taken at once. A zstd block of 4 bytes can stand for 128 KB (RFC 8878, 3.1.1.2),
so a step makes at most 32 MB."""


def blocks(path: Path, size: int) -> Iterator[bytes]:
    """Yield the content of ``path`` in order, in blocks of about ``size`` bytes.

    Raises CaptureError where the file cannot be read, its compressed data is cut or damaged, or
    unpacks to more than the budget for its size.
    """
    from isal import igzip, igzip_lib
    from zstandard import ZstdError

    try:
        if not path.is_file():
            what = "not a regular file" if path.exists() else "no such file"
            raise CaptureError(what, where=path)
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(_GZIP):
                with igzip.open(file) as unpacked:  # type: ignore[no-untyped-call]  # isal's gap
                    yield from _bounded(path, _read(unpacked, size))
            elif magic == _ZSTD:
                yield from _bounded(path, _read_zstd(file, size))
            else:
                yield from _read(file, size)
    except EOFError:
        what, remedy = "the compressed data ends early", "copy or record it again"
        raise CaptureError(what, where=path, remedy=remedy) from None
    except OverflowError:  # isal's, which takes a header from one buffer
        what = f"a gzip header of more than {igzip.READ_BUFFER_SIZE >> 10} KB"
        remedy = "unpack it with gzip -d, pack it anew"
        raise CaptureError(what, where=path, remedy=remedy) from None
    except (igzip.BadGzipFile, igzip_lib.IsalError, ZstdError) as error:  # type: ignore[misc]  # stub's gap
        raise CaptureError(f"damaged compressed data: {error}", where=path) from error
    except OSError as error:
        raise CaptureError(f"not readable: {error.strerror}", where=path) from error


def _bounded(path: Path, unpacked: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks as long as the budget for unpacking ``path`` lasts."""
    most = confined.budget(path).unpacked
    size = 0
    for block in unpacked:
        size += len(block)
        if size > most:
            what = f"unpacks to more than {most >> 20:,} MB"
            raise CaptureError(what, where=path, remedy=confined.MORE)
        yield block


def _read(file: "IO[bytes]", size: int) -> Iterator[bytes]:
    while block := file.read(size):
        yield block


def _read_zstd(file: "IO[bytes]", size: int) -> Iterator[bytes]:
    """Decompress frame after frame; the library's own stream reader takes a cut one for whole."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    parts: list[bytes] = []
    held = 0
    while data := file.read(_ZSTD_STEP):
        while data:
            if frame.eof:
                frame = decompressor.decompressobj()
            parts.append(frame.decompress(data))
            held += len(parts[-1])
            data = frame.unused_data
        if held >= size:
            yield b"".join(parts)
            parts, held = [], 0
    if held:
        yield b"".join(parts)
    if not frame.eof:
        raise EOFError
