"""A kind of capture, as data: one object names all that the harness knows of a profiler.

Functions are named as "module:function" and imported at their first call. So every room may import
a kind: it learns names from it, and loads no reader, no analysis and no library of tables.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from harness.ground.references import resolve

if TYPE_CHECKING:
    import polars as pl

    from harness.evidence.section import Section

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

Argv = list[str]
Tables = dict[str, "pl.DataFrame"]
"""Evidence tables by name, as in harness.evidence.tables."""


@dataclass(frozen=True)
class Lazy(Generic[P, R_co]):
    """A function by its "module:function"; calling it imports the module."""

    reference: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Load the function, call it and return its result."""
        result: R_co = resolve(self.reference)(*args, **kwargs)
        return result


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
    export: Lazy[[Path, Path, Path], Path] | None = None


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
    redact: Lazy[[Path, Path], None] | None = None
    opens: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Counts:
    """The counts a capture has to hold: ``declared`` by the workload, ``counted`` by the profiler.

    Both map a name (a range's, or "kernels") to a number.
    """

    declared: Mapping[str, int]
    counted: Mapping[str, int]


@dataclass(frozen=True)
class Kind:
    """One kind of capture; a field at its default means that the kind has none of it.

    Recording: ``wrap(argv, out, flags)`` returns the command that runs the workload under the
    profiler ``tool`` and ``after(out)`` the commands that turn its report into files that need no
    profiler; ``leaves`` are the files that must exist then, and ``counted(log)`` returns what the
    profiler says that it recorded. ``hook`` is the "module:class" of the probe that records in the
    workload's process, and ``samples`` is what it samples of a step. ``reads_counters``: needs the
    driver's permission for hardware counters. ``export_check(program)`` returns whether the
    installed program can export, and the remedy, empty if it can. ``unprofiled``: nothing watches
    the workload, so its times are the times; planned first, repeated in rounds, and judged by what
    the GPU monitor saw.

    Reading: ``read(path)`` turns ``artifact`` into the tables it ``fills``; ``read_brief(path)``
    leaves out of a large capture what only joins rows of several tables. ``section(path)`` finds
    the part of a long timeline that ``read_section(path, part)`` reads in place of all; without
    them, all is read and the part taken of it. ``keep(tables)`` leaves
    out what no page and no finding reads: a run's evidence holds the rest, and two captures are
    compared by it. ``check(counts, tables, path)`` raises CaptureError if a capture does not hold
    what it has to. ``conditions(path, tables)`` returns what a capture says of GPU, driver and
    profiler.

    Analysis: ``measures`` by name; ``compared_by`` is the table by which two captures are compared.
    ``cost`` ranks kinds by how much a recording slows the workload: where several kinds fill a
    table, the cheapest is read.

    Inspecting one file: ``summarise(tables, label)`` returns plain data, ``show(document, names)``
    prints it with shortened kernel names, which get the terminal's width less ``beside_names``.

    Publishing: ``kept`` artifacts.
    """

    name: str
    title: str
    cost: int
    unprofiled: bool = False
    formats: tuple[Format, ...] = ()

    hook: str = "harness.probe.hooks.hook:Hook"
    samples: tuple[str, ...] = ("latency",)
    tool: str | None = None
    reads_counters: bool = False
    export_check: Lazy[[str], tuple[str, str]] | None = None
    leaves: tuple[str, ...] = ()
    wrap: Lazy[[Argv, Path, tuple[str, ...]], Argv] = Lazy("harness.evidence.kind:unwrapped")
    after: Lazy[[Path], list[Argv]] = Lazy("harness.evidence.kind:no_exports")
    counted: Lazy[[str], dict[str, int]] = Lazy("harness.evidence.kind:no_counts")

    artifact: str | None = None
    read: Lazy[[Path], Tables] | None = None
    read_brief: Lazy[[Path], Tables] | None = None
    section: "Lazy[[Path], Section | None] | None" = None
    read_section: "Lazy[[Path, Section], Tables] | None" = None
    keep: Lazy[[Tables], Tables] | None = None
    fills: tuple[str, ...] = ()
    check: Lazy[[Counts, Tables, Path], None] | None = None
    conditions: Lazy[[Path, Tables], dict[str, str]] | None = None

    measures: Mapping[str, Lazy[[Tables], float | None]] = field(default_factory=dict)
    compared_by: str | None = None

    summarise: Lazy[[Tables, str], dict[str, Any]] | None = None
    show: Lazy[[dict[str, Any], dict[str, str]], None] | None = None
    beside_names: int = 67

    kept: tuple[Kept, ...] = ()


def unwrapped(argv: Argv, _out: Path, _flags: tuple[str, ...]) -> Argv:
    """Return the workload's own command: nothing is started around it."""
    return argv


def no_exports(_out: Path) -> list[Argv]:
    """Return no commands: the reader takes the artifact that the tool wrote."""
    return []


def no_counts(_log: str) -> dict[str, int]:
    """Return no counts: the log says nothing of what was recorded."""
    return {}
