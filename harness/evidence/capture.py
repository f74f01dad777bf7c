"""One recording, as it leaves the door and reaches the page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import polars as pl

Tables: TypeAlias = "dict[str, pl.DataFrame]"
"""Table name to rows, as a reader returns them and as evidence is stored."""
SAID = "profiler said"
"""The condition that holds the profiler's own errors and warnings."""
BENCHMARK = "benchmark mode: "
"""What ranges begin with in which cuDNN or MIOpen tries its algorithms for an operator."""
BUILD = "builds: "
"""What ranges begin with in which cuDNN builds an operator's kernels for a new shape."""

EVENT_WAIT = r"^(cuda|hip|cu)EventSynchronize"
"""The host calls that wait for an event, by their names."""

MARK_OF_TIME = r"^(?:ProfilerStep#\d+|step:.*|phase:.*)$"
"""Names of ranges that mark time, not a place in the program: a regular expression."""
IN_SCOPE = " / "
"""What stands between the names of a scope, the outermost first."""
MODULE_NUMBER = r"_\d+$"
"""What torch.profiler counts the modules of a class by, at the end of their names: a regular
expression."""
NO_STACK = "unknown (no stack recorded)"
"""The site of a block of which a snapshot has no stack."""
_NS_OF_S = 1e9


@dataclass(frozen=True)
class Capture:
    """One recording: the label of its file or cell, its tables, what it was made on, its kind."""

    label: str
    tables: Tables
    conditions: dict[str, str]
    kind: str = ""


@dataclass(frozen=True)
class Part:
    """The stretch from ``start_ns`` to ``end_ns``; it holds ``events`` of ``of``.

    ``first_ns``: when the first event of all began.
    """

    start_ns: int
    end_ns: int
    events: int
    of: int
    first_ns: int

    def __str__(self) -> str:
        """Return a phrase for people: events, their number, and the times."""
        begun, ended = ((at - self.first_ns) / _NS_OF_S for at in (self.start_ns, self.end_ns))
        return (
            f"{self.events:,} of {self.of:,} events, those in the middle:"
            f" from {begun:,.3f} s to {ended:,.3f} s"
        )
