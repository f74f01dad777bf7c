"""Loads pickles that hold plain data, and refuses all others before anything of them runs.

A pickle is a program. Snapshots of torch use only opcodes that build containers, strings and
numbers, so the program is read first, and one that could import, call or build anything is refused.
"""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import CaptureError

_PLAIN = {
    *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("EMPTY_LIST", "APPEND", "APPENDS", "LIST", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("MEMOIZE", "GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT"),
}
_MOST_BYTES = 2 << 30
_MOST_OPCODES = 200_000_000


def load(path: Path) -> Any:
    """Return what the pickle at ``path`` holds; CaptureError if it is not plain data."""
    if path.stat().st_size > _MOST_BYTES:
        raise CaptureError("a pickle of over 2 GiB is not read", where=path)
    data = path.read_bytes()
    try:
        _scan(path, data)
        return _Plain(io.BytesIO(data)).load()
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(f"a damaged pickle: {error}", where=path) from error


def _scan(path: Path, data: bytes) -> None:
    for count, (opcode, argument, at) in enumerate(pickletools.genops(data)):
        if opcode.name not in _PLAIN:
            raise CaptureError(
                f"the pickle would run code or build objects ({opcode.name} at byte {at})",
                where=path,
                remedy="only snapshots made of plain data are read",
            )
        # A memo index far past what was memoised makes the unpickler allocate up to it.
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument or 0) > count:
            raise CaptureError(f"a memo index of {argument} at byte {at}", where=path)
        if count > _MOST_OPCODES:
            raise CaptureError("a pickle of too many operations", where=path)


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise CaptureError(f"the pickle asks for {module}.{name}")

    def persistent_load(self, pid: object, /) -> NoReturn:
        raise CaptureError(f"the pickle asks for the outside object {str(pid)[:40]}")
