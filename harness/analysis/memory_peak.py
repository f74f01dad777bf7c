"""What the peak of a memory snapshot is made of, by the line that asked for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.analysis.units import counted, size

GB = 10**9


@dataclass(frozen=True)
class Held:
    """Blocks of one line and their bytes."""

    site: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class Left:
    """The bytes that a line leaves in each repeat."""

    site: str
    bytes: int


@dataclass(frozen=True)
class MemoryGrowth:
    """What each of ``repeats`` leaves and never frees; sizes are bytes.

    ``line`` runs once in each: a step, or what a step does several times. ``sites`` are the lines
    that leave a twentieth of it or more. The device has room for ``lasts`` more, None where its
    size is not recorded.
    """

    line: str
    repeats: int
    bytes: int
    sites: tuple[Left, ...]
    lasts: float | None

    def text(self) -> str:
        """Return a sentence."""
        lines = ", ".join(f"{size(left.bytes)} by {left.site}" for left in self.sites)
        repeats = counted(self.repeats, "repeat")
        return (
            f"Each of {repeats} of {self.line} leaves {size(self.bytes)}: {lines}; {self.room()}."
        )

    def room(self) -> str:
        """Return how many repeats more there is memory for."""
        if self.lasts is None:
            return f"each further GB is used up in {GB / self.bytes:,.1f} repeats"
        return f"the device is full after {self.lasts:,.0f} more at most"


@dataclass(frozen=True)
class MemoryPeak:
    """What was allocated when most was, in the measured steps; sizes are bytes.

    The level rose so high ``times`` times, or nearly, and fell to its middle in between.
    ``before`` of it has no stack: it was asked for before the recording or, where nothing was held
    then (``start`` is 0), by a library such as cuBLAS for its workspace. ``sites`` are the lines
    that hold most, ``other_bytes`` those of all other lines. ``start`` and ``end`` are the
    allocated bytes at both ends of the measured steps, ``left`` the lines that hold most of what
    the steps asked for and never freed, ``left_bytes`` all of that. ``growth`` is None where
    nothing leaks, or no repeats are told apart.
    """

    source: str
    allocated: int
    times: int
    reserved: int
    before: int
    sites: tuple[Held, ...]
    other_bytes: int
    start: int
    end: int
    left: tuple[Held, ...]
    left_bytes: int
    growth: MemoryGrowth | None = None

    def lines(self) -> Iterator[str]:
        """Yield sentences."""
        again = f", reached {self.times:,} times" if self.times > 1 else ""
        held_then = f"{size(self.allocated)} allocated at the peak{again}"
        yield f"{held_then}; {size(self.reserved)} reserved:"
        for held in self.sites:
            yield f"- {size(held.bytes)} in {counted(held.blocks, 'block')}: {held.site}"
        if self.other_bytes:
            yield f"- {size(self.other_bytes)} of other lines"
        if self.before:
            of_when = "held before the recording: no stack" if self.start else "without a stack"
            yield f"- {size(self.before)} {of_when}"
        ends = f"{size(self.start)} at the first event, {size(self.end)} at the last"
        if self.left:
            first = self.left[0]
            ends += (
                f"; {size(self.left_bytes)} asked for in between are still held, most"
                f" ({size(first.bytes)}) by {first.site}"
            )
        yield f"{ends}."
        if self.growth:
            yield self.growth.text()
