"""Subjects: the evidence of a cell, of capture files, and of a whole run or report."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from harness.evidence.capture import Capture
from harness.evidence.kinds import by_cost
from harness.evidence.tables import Tables
from harness.ground.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from harness.evidence.provenance import EvidenceProvenance


@dataclass(frozen=True)
class Subject:
    """One cell or capture file: its captures by their kinds' names.

    ``run`` is the id of the run that a cell is from: two cells of one run ran beside each other.
    """

    label: str
    captures: dict[str, Capture]
    run: str = ""


@dataclass(frozen=True)
class CaptureFiles:
    """A folder of capture files, one subject a file; ``refused`` says which cannot be read."""

    label: str
    files: tuple[Subject, ...]
    refused: tuple[HarnessError, ...] = ()

    def subject(self) -> Subject:
        """Return all files as one subject.

        Raises UsageError if two of them are of one kind, and the first error of ``refused``.
        """
        for error in self.refused:
            raise error
        captures = [capture for file in self.files for capture in file.captures.values()]
        kinds = Counter(capture.kind for capture in captures)
        for kind, count in kinds.items():
            if count > 1:
                raise UsageError(
                    f"{count} {kind} captures in the folder",
                    where=self.label,
                    remedy="name one of its files",
                )
        return Subject(self.label, {capture.kind: capture for capture in captures})


@dataclass(frozen=True)
class Folder:
    """The evidence of a run or a report; ``label`` is its path."""

    label: str
    tables: Tables
    origin: "EvidenceProvenance"

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Return case and variant of each finished cell, in the order of the cells table."""
        finished = self.tables["cells"].filter(self.tables["cells"]["status"] == "ok")
        return tuple(finished.select("case", "variant").unique(maintain_order=True).rows())

    def captures(self, case: str, variant: str) -> tuple[str, ...]:
        """Return the kinds of capture that a finished cell has, those first that cost least."""
        rows = self.tables["cells"].rows(named=True)
        kinds = {
            row["capture"]
            for row in rows
            if (row["case"], row["variant"], row["status"]) == (case, variant, "ok")
        }
        return tuple(kind.name for kind in by_cost() if kind.name in kinds)

    def named(self, cell: str) -> Subject:
        """Return the cell that ``CASE.VARIANT`` names; UsageError if there is none."""
        for case, variant in self.cells:
            if cell == f"{case}.{variant}":
                return self.subject(case, variant)
        return self.subject(*cell.partition(".")[::2])

    def subject(self, case: str, variant: str) -> Subject:
        """Return one cell; UsageError if none of that name finished.

        Of an unprofiled kind every round counts, of a profiled kind the first.
        """
        import polars as pl

        rows = self.tables["cells"].filter(
            pl.col("case") == case, pl.col("variant") == variant, pl.col("status") == "ok"
        )
        if rows.is_empty():
            cells = ", ".join(".".join(cell) for cell in self.cells)
            raise UsageError(
                f"no finished cell of {case}.{variant}", where=self.label, remedy=f"it has: {cells}"
            )
        label = f"{self.label}:{case}.{variant}"
        captures = {}
        for kind in by_cost():
            names = rows.filter(pl.col("capture") == kind.name).sort("round")["cell"].to_list()
            names = names if kind.unprofiled else names[:1]
            if names:
                tables = {
                    # What is of the whole run, as its ceilings are, names no cell.
                    name: table.filter(pl.col("cell").is_in([*names, ""]))
                    for name, table in self.tables.items()
                }
                captures[kind.name] = Capture(label, tables, self._conditions(names), kind.name)
        return Subject(label, captures, run=self.origin.run.id)

    def _conditions(self, names: list[str]) -> dict[str, str]:
        target = self.origin.run.target
        cells = [cell for cell in self.origin.cells if cell.cell in names]
        gpu = target.gpu
        conditions = {"GPU": gpu.name, "driver": gpu.driver} if gpu else {"CPU": target.cpu or ""}
        packages = {name: version for cell in cells for name, version in cell.packages.items()}
        conditions |= {name: packages[name] for name in sorted(packages)}
        clocks = [cell.seen.sm_mhz.median for cell in cells if cell.seen.sm_mhz]
        if clocks:
            conditions["SM clock, MHz"] = _span(clocks)
        return conditions | {"capture": _flags(cells[0].command)}


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def _flags(argv: Sequence[str]) -> str:
    """Return the profiler's own part of a command, without the workload and the paths."""
    until = next((at for at, word in enumerate(argv) if "python" in PurePath(word).name), len(argv))
    kept = [word for word in argv[:until] if not re.search(r"[/\\]", word)]
    return " ".join(kept) or "no profiler"
