"""The C unpickler on pickles of the shape that torch's snapshots have, and on no others.

C code unpickles many times faster than :mod:`harness.captures.formats.pickle_guard`, but does
whatever a pickle says. So the text is checked first, by regular expressions that know the length of
every operation they let pass: lists, mappings, text, numbers, pairs of small numbers, and
references to what was memoised in order. Nothing in it looks up, calls or builds an object.

A pickle could still take for ever to hash keys that collide. Text is hashed with a secret, so every
key has to be text: numbers stand only behind a reference, in pairs that begin where a mapping opens
or where an inner container closes. A list or mapping in a key's place ends the load at once.
"""

import io
import pickle
import re
from typing import Any, NoReturn

_HEAD = 2  # bytes of the protocol
_FRAME = 0x95
_FRAME_HEAD = 9
_MEMOIZE = 0x94

# The regular expressions are written for speed: what is most frequent stands first, four references
# of a stack are one step, and dots in a row are faster than a count.
_REFERENCE = rb"(?:j....|h.)"
_REFERENCES = rb"(?:j....j....j....j....|j....|h.)*+"
_LONG = (
    rb"\x8a(?:" + rb"|".join(rb"\x%02x" % n + b"." * n for n in (7, 6, 5, 4, 8, 3, 2, 1)) + rb")"
)
_NUMBER = rb"(?:K.|J....|M..|" + _LONG + rb"|[N\x88\x89]|G........)"
_OPERATIONS = re.compile(
    rb"(?:j....j....j....j....|j....|h.(?:h.|\x8a\x06......|J....|M..|K.)?+"
    rb"|[\]}(esau\x94\x86.]++|" + _NUMBER + rb")*+",
    re.S,
)

_LIST, _MAPPING = rb"\]\x94?+", rb"\}\x94?+"
_EMPTY_LIST = _LIST + rb"(?![(\]}]|" + _REFERENCE + rb"a)"
_POOL = rb"K.K.\x86\x94?+"  # of few different values, so that they collide little as keys
_VALUE = rb"(?:" + rb"|".join((_REFERENCE, _POOL, _NUMBER, _EMPTY_LIST)) + rb")"
_PAIRS = rb"(?:" + _REFERENCE + _VALUE + rb")*+" + _REFERENCE + rb"?+"
_SHAPE = re.compile(
    rb"(?:(?:"
    + _LIST
    + rb"\(?|e\()"
    + _REFERENCES
    + rb"|(?:"
    + _MAPPING
    + rb"\(?|[esau])"
    + _PAIRS
    + rb")*+\.",
    re.S,
)


class _DataUnpickler(pickle.Unpickler):
    """Looks nothing up."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"no plain data: {module}.{name}")


class _OneFrame:
    """A file of one frame, which is read as the ``program`` that it is: without a copy."""

    def __init__(self, program: bytes) -> None:
        size = len(program).to_bytes(_FRAME_HEAD - 1, "little")
        self._head = io.BytesIO(b"\x80\x04" + bytes((_FRAME,)) + size)
        self._program = program

    def read(self, size: int) -> bytes:
        """Return the next bytes: of the head, then the program."""
        return self._head.read(size) or self._program[:size]

    def readline(self) -> bytes:
        """Return nothing: no operation of plain data reads a line."""
        return b""


def fits(program: bytes) -> bool:
    """Whether ``program``, a pickle without frames and protocol, is of the shape."""
    skeleton, at, end = [], 0, len(program)
    while True:
        run = _OPERATIONS.match(program, at)
        begin = at
        at = run.end() if run else at
        skeleton.append(program[begin:at])
        if at == end:
            return _SHAPE.fullmatch(b"".join(skeleton)) is not None
        size = {0x8C: 1, 0x58: 4}.get(program[at], 0)  # SHORT_BINUNICODE, BINUNICODE
        if not size:
            return False
        at += 1 + size + int.from_bytes(program[at + 1 : at + 1 + size], "little")
        if at >= end:
            return False
        at += program[at] == _MEMOIZE
        skeleton.append(b"h\0")


def without_frames(data: bytes | bytearray) -> bytes | None:
    """Return a pickle of protocol 4 or 5 without protocol and frames; None for another."""
    view = memoryview(data)
    if data[:_HEAD] not in (b"\x80\x04", b"\x80\x05"):
        return None
    at, parts = _HEAD, []
    while at < len(data):
        if data[at] != _FRAME:
            parts.append(view[at:])
            break
        size = int.from_bytes(data[at + 1 : at + _FRAME_HEAD], "little")
        parts.append(view[at + _FRAME_HEAD : at + _FRAME_HEAD + size])
        at += _FRAME_HEAD + size
    return b"".join(parts)


def load(program: bytes) -> Any:
    """Return the data of a ``program`` that fits; raises what a damaged pickle raises.

    It is one frame: without, the unpickler asks the file for each operation, which takes it thrice
    as long.
    """
    return _DataUnpickler(_OneFrame(program)).load()
