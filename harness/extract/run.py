"""From a run's captures to evidence: every artifact checked, every count compared, then read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import files
from harness.captures.kind import Counts
from harness.captures.registry import KINDS
from harness.errors import CaptureError, HarnessError
from harness.evidence import tables as evidence
from harness.evidence.tables import Tables
from harness.store import run_folder

PROVENANCE = "provenance.json"


def extract(run: run_folder.Run, folder: Path) -> Tables:
    """Read every cell of ``run`` into ``folder`` (tables and provenance) and return the tables.

    A capture that cannot be trusted makes its cell fail, with the reason, and nothing else.
    """
    import polars as pl

    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in evidence.SCHEMAS}
    cells = []
    for path, record in _newest(run):
        name = f"{record['case']}.{record['variant']}.{record['capture']}.r{record['round']}"
        try:
            read = _cell(path, record) if record["status"] == "ok" else {}
        except CaptureError as error:
            read, record["status"], record["reason"] = {}, "unusable", str(error)
        for table, rows in read.items():
            parts[table].append(rows.insert_column(0, pl.lit(name).alias("cell")))
        parts["cells"].append(_named(name, _row(record)))
        cells.append(_told(name, record))
    parts["ceilings"] += [_named("", rows) for rows in _ceilings(run.provenance)]
    tables = {name: pl.concat(rows) for name, rows in parts.items() if rows}
    with files.atomic_folder(folder) as building:
        evidence.save(building, tables)
        files.write_json(building / PROVENANCE, {"run": run.provenance, "cells": cells})
    return evidence.load(folder)


def _newest(run: run_folder.Run) -> list[tuple[Path, dict[str, Any]]]:
    """Return one record a variant, case, capture and round: the newest that is whole, if any is."""
    best: dict[tuple[str, ...], tuple[Path, dict[str, Any]]] = {}
    for path, record in run.records():
        key = tuple(str(record[part]) for part in ("case", "variant", "capture", "round"))
        known = best.get(key)
        if known is None or _rank(record) > _rank(known[1]):
            best[key] = (path, record)
    return [best[key] for key in sorted(best)]


def _rank(record: dict[str, Any]) -> tuple[bool, float]:
    return record["status"] == "ok", record["started"]


def _named(name: str, rows: Any) -> Any:
    import polars as pl

    return rows.insert_column(0, pl.lit(name).alias("cell"))


def _row(record: dict[str, Any]) -> Any:
    """Return a cell's own row. Runs of an earlier harness were not watched as they measured."""
    names = ("variant", "case", "capture", "round", "status", "reason", "wall_s")
    known = {key: [record[key]] for key in names}
    if record.get("doubts") is not None:
        known |= {
            "doubt": ["; ".join(record["doubts"])],
            "retried": ["; ".join(record["retried"])],
            **{
                f"sm_mhz{ending}": [record["seen"].get("sm_mhz", {}).get(which)]
                for ending, which in (("", "median"), ("_min", "min"), ("_max", "max"))
            },
            "idle_s": [record["idle_s"]],
        }
    return evidence.frame("cells", known)


def _ceilings(origin: dict[str, Any]) -> Iterator[Any]:
    """Yield the ceilings of each GPU that the run was begun or gone on with, once."""
    known = [one["ceilings"] for one in (origin, *origin.get("resumed", [])) if one.get("ceilings")]
    for found in {one["gpu"]: one for one in known}.values():
        rows = [{"gpu": found["gpu"], "name": name, **it} for name, it in found["rates"].items()]
        yield _rows("ceilings", rows)


def _cell(path: Path, record: dict[str, Any]) -> Tables:
    """Return a cell's tables; CaptureError if it is not what was published or declared."""
    workload = record["workload"]
    declared = [
        {"name": f"declared {name}", "unit": "ranges", "value": float(count), "text": None}
        for name, count in workload["declared"].items()
    ]
    tables = {
        "samples": _rows("samples", workload["samples"]),
        "sampling": _rows("sampling", workload.get("sampling", [])),
        "facts": _rows("facts", [*workload["facts"], *declared]),
    }
    kind = KINDS[record["capture"]]
    for name in kind.leaves:
        run_folder.verified(path, record, name)
    if kind.read and kind.artifact:
        read = kind.read(path / kind.artifact)
        if kind.check:
            counts = Counts(workload["declared"], record.get("counted", {}))
            kind.check(counts, read, path / kind.artifact)
        tables |= read
    return tables


def _rows(table: str, rows: list[dict[str, Any]]) -> Any:
    return evidence.frame(
        table, {column: [row.get(column) for row in rows] for column in evidence.SCHEMAS[table]}
    )


def _told(name: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return what the report says of a cell: all but the numbers that are tables now."""
    kept = ("status", "reason", "wall_s", "started", "gpu", "seen", "params", "settings")
    return {
        "cell": name,
        **{key: record[key] for key in kept},
        "command": record["command"]["argv"],
        "packages": record["workload"].get("packages", {}),
        "artifacts": record["artifacts"],
    }


def gpus(origin: dict[str, Any]) -> dict[str, str | None]:
    """Return the GPU that each cell ran on, None on a CPU; ``origin``: from :func:`provenance`."""
    return {cell["cell"]: cell["gpu"] for cell in origin["cells"]}


def provenance(folder: Path) -> dict[str, Any]:
    """Return what :func:`extract` noted of where the evidence comes from."""
    try:
        return files.read_json(folder / PROVENANCE)
    except HarnessError as error:
        raise CaptureError("no evidence here", where=folder, remedy="harness extract") from error
