"""What the program's own Python code did: its innermost frames, and what they called.

torch.profiler writes a Python frame as ``FILE(LINE): FUNCTION``, with the line that the function
begins at and the file below an entry of sys.path, and a function in C as ``<built-in …>``
(torch/csrc/autograd/profiler_python.cpp). So a package that pip installed may look like the
program's own: only Python's and torch's modules are known by their names.
"""

import re
import sys
from collections.abc import Iterator

import polars as pl

from harness.captures.torch.columns import Strings
from harness.captures.torch.events import SHORTEST_US

_FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<function>.+)")
_IN_C = re.compile(
    r"<built-in (?:method|function) (?P<function>\w+)(?P<of_torch> of (Tensor|type"
    r"|torch\S*|pybind11\S*) object)?"
)
_TORCH = re.compile(r"(^|/)torch/|torchinductor_|<eval_with_key>")
_INSTALLED = re.compile(r"/(site|dist)-packages/|/lib/python3\.\d+/|^<frozen ")
_SPAN = ("start_ns", "duration_ns", "thread")

_Place = tuple[str, str | None] | None
"""A frame of the program's own, and what it called of other code; None outside and in torch's."""


def own_frames(frames: pl.DataFrame, covers: pl.DataFrame, names: Strings) -> pl.DataFrame:
    """Return the table ``frames``' rows: name and called, which count in ``names``, and their time.

    ``frames`` are Python's, ``covers`` the operators and modules in which torch's code runs; both
    have name, start_ns, duration_ns and thread. Rows of one thread do not overlap.
    """
    rows = pl.concat(
        [
            each.select("name", *_SPAN, is_frame=pl.lit(value=value))
            for each, value in ((frames, True), (covers, False))
        ]
    ).drop_nulls()
    rows = rows.filter(pl.col("duration_ns") >= SHORTEST_US * 1e3)
    rows = rows.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    # Of spans that begin together the longest is outside, a module or operator in its frame.
    keys = ("thread", "start_ns", "end_ns", "is_frame")
    rows = rows.sort(keys, descending=[False, False, True, True])
    numbers: dict[str | None, int | None] = {None: None}
    told: list[list[int | None]] = []
    for thread, start, end, place in _pieces(rows, names):
        if place is None:
            continue
        for text in place:
            if text not in numbers:
                numbers[text] = names.add(text)  # type: ignore[arg-type]  # None is in it
        words = [numbers[text] for text in place]
        if told and told[-1] == [*words, told[-1][2], start, thread]:
            told[-1][3] = end
        else:
            told.append([*words, start, end, thread])
    times = ("start_ns", "end_ns", "thread")
    types = dict.fromkeys(("name", "called"), pl.UInt32) | dict.fromkeys(times, pl.Int64)
    made = pl.DataFrame(told, schema=types, orient="row")
    return made.with_columns(duration_ns=pl.col("end_ns") - pl.col("start_ns")).drop("end_ns")


def _pieces(rows: pl.DataFrame, names: Strings) -> Iterator[tuple[int, int, int, _Place]]:
    """Yield the time from one beginning or end of a span to the next: thread, start, end, place."""
    open_: list[tuple[int, _Place]] = []  # end and place of the spans around
    before, at = 0, 0
    spans = rows.select("thread", "start_ns", "end_ns", "name", "is_frame")
    for thread, start, end, name, is_frame in spans.iter_rows():
        while open_ and (thread != before or open_[-1][0] <= start):
            until, place = open_.pop()
            if until > at:
                yield before, at, until, place
                at = until
        if open_ and start > at:
            yield thread, at, start, open_[-1][1]
        before, at = thread, start
        around = open_[-1][1] if open_ else None
        open_.append((end, _inside(around, names[name]) if is_frame else None))
    while open_:
        until, place = open_.pop()
        if until > at:
            yield before, at, until, place
            at = until


def _inside(around: _Place, text: str) -> _Place:
    """Return the place of a frame by its text and the place around it."""
    frame = _FRAME.fullmatch(text)
    if frame is None:
        in_c = _IN_C.match(text)
        if in_c is None or in_c["of_torch"]:
            return None
        return _called(around, f"{in_c['function']}()")
    file, function = frame["file"], frame["function"]
    if _TORCH.search(file):
        return None
    if _INSTALLED.search(file) or _top(file) in sys.stdlib_module_names:
        return _called(around, f"{file} {function}()")
    call = "" if function.startswith("<") else "()"
    return f"{file}:{frame['line']} {function}{call}", None


def _called(around: _Place, called: str) -> _Place:
    return around and (around[0], around[1] or called)


def _top(file: str) -> str:
    """Return the module or package that a file belongs to, of a path below sys.path."""
    return file.partition("/")[0].removesuffix(".py")
