"""Builds the plain data that a pickle holds; nothing in here could import, call or look up.

A pickle is a program. torch's snapshots use only the operations that build lists, mappings, tuples,
text and numbers, so these are all there are: ``pickletools`` decodes them, without running any, and
the table below does them. Even a ``pickle.Unpickler`` that refuses every class can be hung: to hash
tuples that share their parts, as the key of a mapping, takes it exponentially long. So C code gets
only pickles whose text was checked: see :mod:`harness.captures.formats.pickle_shape`.
"""

import pickle
import pickletools
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from harness.captures.formats import pickle_shape
from harness.ground.errors import CaptureError

_DAMAGE = (pickle.UnpicklingError, EOFError)
_DEEPEST_STACK = 1_000_000  # pickles take from it after a thousand items
_MOST_OPERATIONS = 64_000_000  # 10⁶ events with stacks of 20 make 43 million; 6 GB at worst


class _Machine:
    """The state of a pickle's program: its stack, the marks on it and what it memoised."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def since_mark(self) -> list[Any]:
        return self.popped(len(self.stack) - self.marks.pop())

    def popped(self, count: int) -> list[Any]:
        at = len(self.stack) - count
        if not 0 <= at <= len(self.stack):
            raise IndexError("stack underflow")
        values = self.stack[at:]
        del self.stack[at:]
        return values

    def extend(self, values: list[Any]) -> None:
        list.extend(self.stack[-1], values)

    def update(self, pairs: list[Any]) -> None:
        keys = pairs[::2]
        if not all(type(key) is str for key in keys):
            raise ValueError("a mapping's key is no text")
        dict.update(self.stack[-1], zip(keys, pairs[1::2], strict=True))

    def put(self, index: int | None) -> None:
        self.memo[len(self.memo) if index is None else index] = self.stack[-1]

    def get(self, index: int) -> None:
        self.stack.append(self.memo[index])


_Operation = Callable[[_Machine, Any], object]

_OPERATIONS: dict[str, _Operation] = {
    **dict.fromkeys(("PROTO", "FRAME"), lambda _machine, _argument: None),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"), _Machine.push),
    **dict.fromkeys(("SHORT_BINUNICODE", "BINUNICODE"), _Machine.push),
    **dict.fromkeys(("SHORT_BINBYTES", "BINBYTES"), _Machine.push),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "MARK": _Machine.mark,
    "APPEND": lambda machine, _: machine.extend(machine.popped(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.update(machine.popped(2)),
    "SETITEMS": lambda machine, _: machine.update(machine.since_mark()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.push(tuple(machine.popped(1))),
    "TUPLE2": lambda machine, _: machine.push(tuple(machine.popped(2))),
    "TUPLE3": lambda machine, _: machine.push(tuple(machine.popped(3))),
    **dict.fromkeys(("MEMOIZE", "BINPUT", "LONG_BINPUT"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.get),
}
"""What protocols 2 to 5 write for plain data (PEP 307, PEP 3154). Everything else is refused."""


def load(data: bytes | bytearray, where: Path) -> Any:
    """Return the plain data of the pickle ``data``; CaptureError names ``where`` if it is not that.

    Containers may share parts and even hold themselves: walk what is returned no deeper than its
    meaning goes.
    """
    program = pickle_shape.without_frames(data)
    machine = _Machine()
    try:
        if program is not None and pickle_shape.fits(program):
            return pickle_shape.load(program)
        with warnings.catch_warnings():
            # pickletools decodes old strings, and Python deprecates escapes that it does not know.
            warnings.simplefilter("ignore", DeprecationWarning)
            end = _run(machine, data, where)
        (value,) = machine.stack
    except (AttributeError, LookupError, TypeError) as error:
        raise CaptureError("a damaged pickle: its parts do not fit", where=where) from error
    except (*_DAMAGE, ValueError) as error:
        raise CaptureError(f"a damaged pickle: {error}", where=where) from error
    if end != len(data):
        raise CaptureError(f"bytes after the pickle's end at {end}", where=where)
    return value


def _run(machine: _Machine, data: bytes | bytearray, where: Path) -> int:
    """Do every operation of ``data``; return where it stops."""
    for operation, argument, at in islice(pickletools.genops(data), _MOST_OPERATIONS):
        if operation.name == "STOP":
            return (at or 0) + 1
        do = _OPERATIONS.get(operation.name)
        if do is None:
            raise CaptureError(
                f"a pickle of more than plain data ({operation.name} at byte {at})",
                where=where,
                remedy="only what torch.cuda.memory._dump_snapshot writes is read",
            )
        do(machine, argument)
        if len(machine.stack) > _DEEPEST_STACK:
            raise CaptureError(f"a pickle whose stack grows above {_DEEPEST_STACK:,}", where=where)
    raise CaptureError(f"a pickle of more than {_MOST_OPERATIONS} operations", where=where)
