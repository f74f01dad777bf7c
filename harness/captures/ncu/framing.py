r"""The framing of a report of Nsight Compute: blocks, each a header and a payload.

It is NVIDIA's, from ``ProfilerReport.proto`` as it ships with Nsight Compute: the bytes ``NVR\0``
and a FileHeader, then blocks of a BlockHeader and a payload, each message after its size as a
little-endian uint32.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness.ground.errors import CaptureError

_MAGIC = b"NVR\0"
_RESULT_COUNTS = (2, 7, 8, 9)
"""BlockHeader's NumResults, NumRangeResults, NumCmdlistResults and NumGraphResults."""
SOURCES = 1
SESSION_DETAILS = 3
PAYLOAD_SIZE = 5
"""BlockHeader's NumSources, SessionDetails and PayloadSize."""
_MOST_HEADER_BYTES = 256 << 20
_MOST_BLOCKS = 1_000_000
_MOST_FIELDS = 100_000
"""Fields of a message; those of a real header are tens."""

Fields = dict[int, list[int | bytes]]
"""The values of a protobuf message by field number: varints as numbers, messages as bytes."""


def kernel_count(path: Path) -> int:
    """Return the number of results (kernels, or replayed ranges and graphs) that blocks announce.

    Raises CaptureError if the blocks are damaged or do not end where the file does.
    """
    counts = (header.get(number, ()) for header in headers(path) for number in _RESULT_COUNTS)
    return sum(value for values in counts for value in values if isinstance(value, int))


def headers(path: Path) -> list[Fields]:
    """Return the header of each block; CaptureError if they are damaged or the file is cut."""
    if not path.is_file():  # a pipe would never answer
        raise CaptureError("no such file", where=path)
    try:
        with path.open("rb") as file:
            return list(_walk(path, file, os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise CaptureError(error.strerror or str(error), where=path) from error


def _walk(path: Path, file: IO[bytes], size: int) -> Iterator[Fields]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise CaptureError("not a report of Nsight Compute", where=path)
    message(path, file, size)
    blocks = 0
    while file.tell() < size:
        header = fields(path, message(path, file, size))
        payloads = [value for value in header.get(PAYLOAD_SIZE, ()) if isinstance(value, int)]
        end = file.tell() + (payloads[-1] if payloads else 0)
        if end > size:
            raise CaptureError(f"cut short: {size} of at least {end} bytes", where=path)
        file.seek(end)
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise CaptureError(f"more than {_MOST_BLOCKS} blocks", where=path)
        yield header


def message(path: Path, file: IO[bytes], size: int) -> bytes:
    """Return the message that follows its size in a file of ``size`` bytes."""
    prefix = file.read(4)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 4 or file.tell() + length > size:
        raise CaptureError("cut short within a header", where=path)
    if length > _MOST_HEADER_BYTES:
        raise CaptureError(f"a header of {length} bytes", where=path)
    return file.read(length)


def fields(path: Path, content: bytes) -> Fields:
    """Return the varints and the length-delimited fields of a protobuf message by number.

    The encoding: https://protobuf.dev/programming-guides/encoding/
    """
    values: Fields = {}
    at = count = 0
    while at < len(content):
        key, at = _varint(path, content, at)
        count += 1
        if count > _MOST_FIELDS:
            raise CaptureError(f"a header of more than {_MOST_FIELDS:,} fields", where=path)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(path, content, at)
            values.setdefault(number, []).append(value)
        elif wire == 2:
            length, at = _varint(path, content, at)
            values.setdefault(number, []).append(content[at : at + length])
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise CaptureError("a damaged block header", where=path)
    if at > len(content):
        raise CaptureError("a damaged block header", where=path)
    return values


def _varint(path: Path, content: bytes, at: int) -> tuple[int, int]:
    """Return the varint at ``at`` (ten bytes at most) and where it ends."""
    value = 0
    for index, byte in enumerate(content[at : at + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise CaptureError("a damaged block header", where=path)
