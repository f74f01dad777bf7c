"""What a kind of capture is: how it is recorded, read and checked, and what it fills.

Each kind derives from :class:`Kind` in ``harness/captures/<kind>/kind.py``, where methods import
what they need when they are called. So every room may ask a kind for its names, and loads no
reader and no library of tables.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.evidence.capture import Part, Tables
from harness.ground.errors import CaptureError

Argv = list[str]


@dataclass(frozen=True)
class Format:
    """One file format of a kind.

    ``signature`` matches the first bytes after decompression; ``vague`` formats are tried after all
    others. ``plain_name`` is the file name that the reader expects of an unpacked copy; a reader
    that ``unpacks_itself`` opens compressed files, too. ``export(path, plain, folder)``
    turns the unpacked file ``plain`` into one that the reader opens, in ``folder``; its errors
    name the user's file ``path``.
    """

    signature: re.Pattern[bytes]
    plain_name: str = "capture"
    vague: bool = False
    unpacks_itself: bool = False
    export: Callable[[Path, Path, Path], Path] | None = None


@dataclass(frozen=True)
class Kept:
    """An artifact that a report keeps.

    A lower ``rank`` is given room first. ``compressed``: stored in zstd. ``redact(source, target)``
    writes a copy that is safe to publish. ``opens``: programs with the command that opens the kept
    file there; "{file}" stands for its path, "{plain}" for the path without ``.zst``.
    """

    name: str
    rank: int
    compressed: bool = False
    redact: Callable[[Path, Path], None] | None = None
    opens: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Counts:
    """The counts a capture has to hold: ``declared`` by the workload, ``counted`` by the profiler.

    Both map a name (a range's, or "kernels") to a number.
    """

    declared: Mapping[str, int]
    counted: Mapping[str, int]


class Kind:
    """One kind of capture. What it leaves as it is here, it has none of.

    ``cost`` ranks kinds by how much a recording slows the workload: where several kinds fill a
    table, the cheapest is read. ``unprofiled``: nothing watches the workload, so its times are the
    times; planned first, repeated in rounds, and judged by what the GPU monitor saw.

    Recording: ``hook`` names what the probe does in the workload's process
    (``harness.probe.hooks``), and ``samples`` what it samples of a step. ``tool`` is the profiler's
    program; ``reads_counters``: it needs the driver's permission for hardware counters.
    ``leaves`` are the files that must exist after a recording.

    Reading: the ``artifact`` is turned into the tables that the kind ``fills``. ``measures`` are
    the names of what can be read off one capture (``harness.analysis.derived``), and two captures
    are compared by the table ``compared_by``. A report keeps ``kept``.
    """

    name: str
    title: str
    cost: int
    unprofiled: bool = False
    formats: tuple[Format, ...] = ()

    hook: str = "range"
    samples: tuple[str, ...] = ("latency",)
    tool: str | None = None
    reads_counters: bool = False
    leaves: tuple[str, ...] = ()

    artifact: str | None = None
    fills: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    compared_by: str | None = None
    kept: tuple[Kept, ...] = ()

    def export_check(self, program: str) -> tuple[str, str]:  # noqa: ARG002
        """Return whether the installed program can export, and the remedy, empty if it can."""
        return "nothing to export", ""

    def wrap(self, argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:  # noqa: ARG002
        """Return the command that runs the workload ``argv`` under the profiler."""
        return argv

    def after(self, out: Path) -> list[Argv]:  # noqa: ARG002
        """Return the commands that turn the profiler's report into files that need no profiler."""
        return []

    def counted(self, log: str) -> dict[str, int]:  # noqa: ARG002
        """Return the counts of recorded events that the profiler printed to its log, by name."""
        return {}

    def read(self, path: Path) -> Tables:
        """Return the tables of the artifact at ``path``; CaptureError if it is damaged."""
        raise CaptureError(f"{self.title}: in no file", where=path)

    def read_brief(self, path: Path) -> Tables:
        """Return the tables, of a large capture without what only joins rows of several tables."""
        return self.read(path)

    def section(self, path: Path) -> Part | None:  # noqa: ARG002
        """Return the part of a long timeline to read, None where all is read before it is cut."""
        return None

    def read_section(self, path: Path, part: Part) -> Tables:
        """Return the tables of the part that :meth:`section` found."""
        raise NotImplementedError

    def keep(self, tables: Tables) -> Tables:
        """Return the tables without what no page and no finding reads, as evidence holds them."""
        return tables

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:
        """Raise CaptureError if a capture does not hold what it has to."""

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:  # noqa: ARG002
        """Return what a capture says of GPU, driver and profiler."""
        return {}
