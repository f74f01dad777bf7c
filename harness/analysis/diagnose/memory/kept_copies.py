"""Copies that copy.deepcopy made stay on the GPU: more than one of each tensor.

One copy beside what it is of may be needed in each step: an average of the weights, a teacher, a
target network. More of them are earlier states, to which a program may go back.

Where to look: In torch's viewer (memory_viz) bands of the sizes of all parameters and states appear
at once, more than one of each size, and stay. Their stacks go through copy.py.

Neighbours: kept-checkpoint was read from a file. leak grows for as long as the program runs; copies
are replaced, and reach a plateau. One average of the weights is wanted.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(
    "kept-copies",
    "memory",
    "Several copies of what the program keeps stand on the GPU.",
    fix=(
        "keep earlier states in the host's memory: a copy of each tensor by .cpu(), or in pinned "
        "memory with non_blocking=True",
        "keep one, and write the next over it (copy_)",
    ),
)
_COPIED = r"(^|/)copy\.py:\d+ "
"""Of a line of Python's module copy: deepcopy of a state, a module or a list."""
_MORE = 1.5
"""Times the bytes of the blocks of these sizes that are no copies: more than one copy of each."""


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the copies that stand at the peak, where they are more than what they are of."""
    if not view.recorded or view.late:
        return
    at, level = view.top
    live = view.live(at)
    copied = pl.col("site").str.contains(_COPIED)
    copies = live.filter(copied)
    originals = live.filter(~copied).join(copies, on="bytes", how="semi")
    size, of = (int(rows["bytes"].sum()) for rows in (copies, originals))
    if view.part(size) < memory_thresholds.SPIKE or size < _MORE * of:
        return
    evidence = (
        view.size("peak of allocated bytes", level),
        view.size("of it in copies", size),
        view.size("in other blocks of their sizes", of),
        view.number("blocks that are copies", copies.height),
    )
    share = view.part(size)
    where = view.by_site(copies)["site"][0]
    yield KIND.finding(where, evidence, share=share, gain=share, confidence=0.8)
