"""From a run's captures to evidence: every artifact checked, every count compared, then read."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures import reading
from harness.evidence import provenance
from harness.evidence import tables as evidence
from harness.evidence.cell_record import CellRecord, Fact
from harness.evidence.kind import Counts, Kind
from harness.evidence.kinds import KINDS
from harness.evidence.provenance import CellProvenance, Provenance
from harness.evidence.record import Record
from harness.evidence.tables import Tables
from harness.ground import bounded, files
from harness.ground.errors import CaptureError, EvidenceError
from harness.store import run_folder

if TYPE_CHECKING:
    import polars as pl


MOST_CELLS = 10_000
"""Cells of a run whose records fit a report's provenance (files.read_json); real ones have 300."""


def extract(run: run_folder.Run, folder: Path, cell: str = "") -> Tables:
    """Read every cell of ``run`` into ``folder`` (tables and provenance) and return the tables.

    With ``cell`` (CASE.VARIANT) only that cell's captures are read; the others keep their rows in
    the table of cells.
    A capture that cannot be trusted makes its cell fail, with the reason, and nothing else.
    EvidenceError for more cells than a report holds.
    """
    import polars as pl

    count = sum(1 for _ in (run.folder / "cells").glob("[!.]*"))
    if count > MOST_CELLS:
        what = f"{count:,} cells, evidence holds at most {MOST_CELLS:,}"
        remedy = "run a part of the study: --case, --variant"
        raise EvidenceError(what, where=run.folder, remedy=remedy)
    newest = _newest(run)
    parts, cells = _published(run, {record.name for _, record in newest})
    for path, record in newest:
        tables: Tables = {}
        try:
            read = record.ok and cell in ("", f"{record.case}.{record.variant}")
            tables = _cell(path, record) if read else {}
        except CaptureError as error:
            record = record.model_copy(update={"status": "unusable", "reason": str(error)})
        for table, rows in tables.items():
            parts[table].append(_named(record.name, rows))
        parts["cells"].append(_named(record.name, _row(record)))
        cells.append(CellProvenance.of(record))
    origin = run.provenance
    parts["ceilings"] += [_named("", rows) for rows in _ceilings(origin)]
    tables = {name: pl.concat(rows) for name, rows in parts.items() if rows}
    if run.report:
        order = tables["cells"].sort("case", "variant", "capture", pl.col("round").cast(pl.String))
        places = {cell: place for place, cell in enumerate(order["cell"])}
        place = pl.col("cell").replace_strict(places, default=-1)  # -1: of no cell
        tables = {name: rows.sort(place, maintain_order=True) for name, rows in tables.items()}
        cells.sort(key=lambda cell: places[cell.cell])
    with files.atomic_folder(folder) as building:
        provenance.save(building, origin, cells, evidence.save(building, tables))
    return evidence.load(folder)


def _published(
    run: run_folder.Run, but: Collection[str]
) -> tuple[dict[str, list["pl.DataFrame"]], list[CellProvenance]]:
    """Return rows by table, and records, of the cells of the report that the run goes on from.

    Cells named in ``but`` are left out: the run itself has them.
    """
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in evidence.SCHEMAS}
    if run.report is None or run.reported is None:
        return parts, []
    for name, rows in evidence.load(run.report / "evidence").items():
        kept = rows.filter(~rows["cell"].is_in(but))
        if kept.height and name != "ceilings":  # which are the calls'
            parts[name].append(kept)
    return parts, [cell for cell in run.reported.cells if cell.cell not in but]


def _newest(run: run_folder.Run) -> list[tuple[Path, CellRecord]]:
    """Return one record a variant, case, capture and round: the newest that is whole, if any is."""
    best: dict[tuple[str, ...], tuple[Path, CellRecord]] = {}
    for path, record in run.records():
        key = record.case, record.variant, record.capture, str(record.round)
        if key not in best or _rank(record) > _rank(best[key][1]):
            best[key] = (path, record)
    return [best[key] for key in sorted(best)]


def _rank(record: CellRecord) -> tuple[bool, float]:
    return record.ok, record.started


def _named(name: str, rows: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    return rows.insert_column(0, pl.lit(name).alias("cell"))


def _row(record: CellRecord) -> "pl.DataFrame":
    """Return a cell's own row. Runs of an earlier harness were not watched as they measured."""
    columns: dict[str, list[object]] = {
        "variant": [record.variant],
        "case": [record.case],
        "capture": [record.capture],
        "round": [record.round],
        "status": [record.status],
        "reason": [record.reason],
        "wall_s": [record.wall_s],
        "started": [record.started],
    }
    if record.doubts is not None:
        clock = record.seen.sm_mhz
        columns |= {
            "doubt": ["; ".join(record.doubts)],
            "retried": ["; ".join(record.retried)],
            "sm_mhz": [clock and clock.median],
            "sm_mhz_min": [clock and clock.min],
            "sm_mhz_max": [clock and clock.max],
            "idle_s": [record.idle_s],
        }
    return evidence.frame("cells", columns)


def _ceilings(origin: Provenance) -> Iterator["pl.DataFrame"]:
    """Yield the ceilings of each GPU that the run was begun or gone on with, once."""
    by_gpu = {call.ceilings.gpu: call.ceilings for call in origin.origins if call.ceilings}
    for ceilings in by_gpu.values():
        rates = ceilings.rates
        columns: dict[str, list[object]] = {
            "gpu": [ceilings.gpu] * len(rates),
            "name": list(rates),
        }
        for column in ("unit", "value", "low", "high", "rounds"):
            columns[column] = [getattr(rate, column) for rate in rates.values()]
        yield evidence.frame("ceilings", columns)


def _cell(path: Path, record: CellRecord) -> Tables:
    """Return a cell's tables; CaptureError if it is not what was published or declared."""
    workload = record.workload
    declared = [
        Fact(name=f"declared {name}", unit="ranges", value=float(count))
        for name, count in workload.declared.items()
    ]
    tables = {
        "samples": _rows("samples", workload.samples),
        "sampling": _rows("sampling", workload.sampling),
        "facts": _rows("facts", [*workload.facts, *declared]),
    }
    kind = KINDS.get(record.capture)
    if kind is None:
        raise CaptureError(f"this harness reads no capture {record.capture!r}", where=path)
    for name in _to_verify(kind, path):
        run_folder.verified(path, record, name)
    if kind.artifact:
        bounded.allow(path / kind.artifact)
        read = reading.read(kind, path / kind.artifact, conditions=False).tables
        if record.imported is None:  # nobody else counted what it holds
            kind.check(Counts(workload.declared, record.counted), read, path / kind.artifact)
        tables |= kind.keep(read)
    return tables


def _to_verify(kind: Kind, cell: Path) -> Iterator[str]:
    """Yield the names of the files of a cell to hold against its record.

    A file that is not read may be gone: a trace.nsys-rep is as large as the SQLite made of it.
    """
    if kind.artifact:
        yield kind.artifact
    for name in kind.leaves:
        if name != kind.artifact and os.path.lexists(cell / name):
            yield name


def _rows(table: str, records: Sequence[Record]) -> "pl.DataFrame":
    return evidence.frame(
        table,
        {
            column: [getattr(record, column) for record in records]
            for column in evidence.SCHEMAS[table]
        },
    )
