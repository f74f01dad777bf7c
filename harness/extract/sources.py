"""Two captures, cells, runs or reports side by side: what they are, and what changed."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures import sniff
from harness.captures.kind import Kind
from harness.captures.registry import by_cost, filling, unprofiled
from harness.errors import CaptureError, UsageError
from harness.evidence import provenance
from harness.evidence import tables as evidence
from harness.evidence.provenance import EvidenceProvenance
from harness.evidence.tables import Tables
from harness.extract import run as extraction
from harness.store import run_folder

if TYPE_CHECKING:
    from harness.analysis.diff.cells import CellDiff, FoldersDiff


@dataclass(frozen=True)
class Subject:
    """One side of a comparison: a label, its tables by capture kind, what it was made on.

    ``run`` is the same for two cells of one run, whose rounds ran beside each other.
    """

    label: str
    captures: dict[str, Tables]
    conditions: dict[str, dict[str, str]]
    run: str = ""


@dataclass(frozen=True)
class Folder:
    """A run's or a report's evidence: its cells by (case, variant)."""

    label: str
    tables: Tables
    origin: EvidenceProvenance
    cells: tuple[tuple[str, str], ...] = field(default=())

    def subject(self, case: str, variant: str) -> Subject:
        """Return one cell of it; UsageError if it has none such."""
        import polars as pl

        rows = self.tables["cells"].filter(
            pl.col("case") == case, pl.col("variant") == variant, pl.col("status") == "ok"
        )
        if rows.is_empty():
            there = ", ".join(f"{one}.{other}" for one, other in self.cells)
            raise UsageError(
                f"no finished cell of {case}.{variant}", where=self.label, remedy=f"it has: {there}"
            )
        captures: dict[str, Tables] = {}
        made: dict[str, dict[str, str]] = {}
        for kind in by_cost():
            names = rows.filter(pl.col("capture") == kind.name).sort("round")["cell"].to_list()
            names = names if kind.unprofiled else names[:1]
            if names:
                captures[kind.name] = {
                    name: table.filter(pl.col("cell").is_in(names))
                    for name, table in self.tables.items()
                }
                made[kind.name] = self._conditions(names)
        label = f"{self.label}:{case}.{variant}"
        return Subject(label, captures, made, run=self.origin.run.id)

    def _conditions(self, names: list[str]) -> dict[str, str]:
        target = self.origin.run.target
        cells = [cell for cell in self.origin.cells if cell.cell in names]
        gpu = target.gpu
        known = {"GPU": gpu.name, "driver": gpu.driver} if gpu else {"CPU": target.cpu or ""}
        packages = {name: version for cell in cells for name, version in cell.packages.items()}
        known |= {name: packages[name] for name in sorted(packages)}
        clocks = [cell.seen.sm_mhz.median for cell in cells if cell.seen.sm_mhz]
        if clocks:
            known["SM clock, MHz"] = _span(clocks)
        return known | {"capture": _flags(cells[0].command)}


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def _flags(argv: Sequence[str]) -> str:
    """Return the profiler's own part of a command, without the workload and the paths."""
    until = next((at for at, word in enumerate(argv) if "python" in Path(word).name), len(argv))
    kept = [word for word in argv[:until] if not re.search(r"[/\\]", word)]
    return " ".join(kept) or "no profiler"


def subject_or_folder(text: str) -> Subject | Folder:
    """Return what ``text`` names: a capture file, a run or report folder, or PATH:CASE.VARIANT."""
    path, _, cell = text.rpartition(":")
    if not Path(text).exists() and path and Path(path).is_dir():
        folder = _folder(Path(path))
        wanted = [(case, variant) for case, variant in folder.cells if cell == f"{case}.{variant}"]
        if wanted:
            return folder.subject(*wanted[0])
        case, _, variant = cell.partition(".")
        return folder.subject(case, variant)
    if Path(text).is_dir():
        return _folder(Path(text))
    return _file(Path(text))


def _folder(path: Path) -> Folder:
    if (path / "run.json").is_file():
        run = run_folder.Run.open(path)
        with tempfile.TemporaryDirectory(prefix="evidence-") as scratch:
            tables = extraction.extract(run, Path(scratch) / "evidence")
            origin = provenance.load(Path(scratch) / "evidence")
    elif (path / "evidence" / provenance.FILE).is_file():
        tables = evidence.load(path / "evidence")
        origin = provenance.load(path / "evidence")
    else:
        raise UsageError(
            "neither a run nor a report",
            where=path,
            remedy="a run has run.json, a report has evidence/",
        )
    finished = tables["cells"].filter(tables["cells"]["status"] == "ok")
    cells = finished.select("case", "variant").unique(maintain_order=True).rows()
    return Folder(str(path), tables, origin, tuple(cells))


def capture(path: Path, *, joins: bool = True) -> tuple[str, Tables]:
    """Return kind and tables of the capture file at ``path``; ``joins`` as for :func:`read`.

    Raises CaptureError if the file cannot be used, ToolError if a program that it needs is absent.
    """
    kind = sniff.kind_of(path)
    with sniff.opened(path) as plain:
        return kind.name, read(kind, plain, path, joins=joins)


def read(kind: Kind, plain: Path, path: Path, *, joins: bool = True) -> Tables:
    """Return the tables of a capture that lies unpacked at ``plain``; errors name ``path``.

    ``joins=False`` leaves out what only tells which host call launched what.
    """
    reader = kind.read if joins or kind.read_brief is None else kind.read_brief
    if reader is None:
        raise CaptureError(f"{kind.title}: in no file", where=path)
    try:
        return reader(plain)
    except CaptureError as error:
        raise CaptureError(error.what, where=path, remedy=error.remedy) from error


def _file(path: Path) -> Subject:
    kind = sniff.kind_of(path)
    with sniff.opened(path) as plain:
        tables = read(kind, plain, path)
        try:
            made = kind.conditions(plain, tables) if kind.conditions else {}
        except CaptureError as error:  # of an unpacked copy: name the user's file
            raise CaptureError(error.what, where=path, remedy=error.remedy) from error
    whole = {name: tables.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    return Subject(str(path), {kind.name: whole}, {kind.name: made})


def compare(a: Subject, b: Subject, ranges: str | None = None) -> "CellDiff":
    """Return what changed from ``a`` to ``b`` in every kind of capture that both have."""
    from harness.analysis.diff import cells

    names = [kind.name for kind in by_cost()]
    shared = [name for name in names if name in a.captures and name in b.captures]
    if not shared:
        raise UsageError(
            f"nothing to compare: {_kinds(a)} of the first, {_kinds(b)} of the second",
            remedy="give two captures of one kind",
        )
    for one in (a, b) if ranges else ():
        _has_range(one, str(ranges))
    return cells.compare(
        {kind: (a.captures[kind], b.captures[kind]) for kind in shared},
        {kind: (a.conditions[kind], b.conditions[kind]) for kind in shared},
        paired=bool(a.run) and a.run == b.run,
        ranges=ranges,
    )


def _has_range(one: Subject, name: str) -> None:
    from harness.analysis.diff.step_breakdown import unnumbered

    for kind in filling("ranges"):
        if kind in one.captures:
            there = unnumbered(one.captures[kind]["ranges"])["name"].unique().drop_nulls()
            if name not in there:
                known = ", ".join(sorted(there)[:8]) or "none"
                remedy = f"there are: {known}"
                raise UsageError(f"{kind} has no range {name!r}", where=one.label, remedy=remedy)


def _kinds(one: Subject) -> str:
    return " and ".join(one.captures)


def compare_folders(a: Folder, b: Folder) -> "FoldersDiff":
    """Return the unprofiled times of every cell that both have; UsageError if there is none."""
    from harness.analysis.diff import timing
    from harness.analysis.diff.cells import CellTimes, FoldersDiff

    shared = [cell for cell in a.cells if cell in b.cells]
    if not shared:
        raise UsageError("the two have no variant and case in common")
    paired = a.origin.run.id == b.origin.run.id
    found = []
    for case, variant in shared:
        sides = [one.subject(case, variant).captures.get(unprofiled()) for one in (a, b)]
        if sides[0] and sides[1]:
            ratios = timing.compare(sides[0], sides[1], paired=paired)
            found.append(CellTimes(case, variant, tuple(ratios)))
    only = [
        tuple(f"{case}.{variant}" for case, variant in one.cells if (case, variant) not in shared)
        for one in (a, b)
    ]
    return FoldersDiff(tuple(found), only[0], only[1])
