"""Reads a capture that somebody else made, within the budget for its size.

One budget bounds all readers (:mod:`harness.ground.confined`): the reader runs in a process of its
own and leaves its tables as Arrow files, which this process maps.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.evidence import measurable, section
from harness.evidence.capture import Part
from harness.evidence.kind import Kind
from harness.evidence.tables import SCHEMAS, Tables, empty, frame
from harness.ground import confined, references
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl


Extent = Literal["whole", "totals", "section"]
"""How much of a long timeline is read: all; all but what links host calls to the operations that
they launched, which is half of it; or as many events as can be joined, in the middle."""

_LONGEST_TEXT = 1 << 17
"""Bytes of one text: a kernel's name has up to 16 KB, an NVTX range of a server somewhat more."""
_MOST_DEVICES = 64
"""A host has up to 16."""
_MOST_TEXT = 16 << 20
"""Bytes of a table's different names."""
_NAMED, _NO_NAME = ("gpu_ops", "api_calls"), "[no name]"
"""Tables of what ran, each of which has a name, and that of one whose name is not in the file."""


@dataclass(frozen=True)
class Contents:
    """What a capture holds: the evidence tables that it fills, and its recording's conditions."""

    tables: Tables
    conditions: dict[str, str]


def read(kind: Kind, plain: Path, extent: Extent = "whole", *, conditions: bool = True) -> Contents:
    """Return the contents of the capture that lies unpacked at ``plain``.

    Without ``conditions`` it is not asked for them.
    Raises CaptureError if it is damaged or spends its budget.
    """
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        arguments = {
            "folder": name,
            "plain": str(plain.resolve()),
            "kind": references.to(type(kind)),
            "extent": extent,
            "conditions": conditions,
        }
        answer = confined.call(leave, plain, folder, arguments, confined.budget(plain))
        tables = left(folder, answer["tables"])
    return Contents(tables, answer["conditions"])


def leave(
    folder: str, plain: str, kind: str, extent: Extent, *, conditions: bool
) -> dict[str, object]:
    """Leave the tables of the capture at ``plain`` in ``folder``; return names, and conditions."""
    path, reader = Path(plain), references.resolve(kind)()
    tables, part = _read(reader, path, extent)
    _check_devices(tables)
    for name in tables:
        table = _with_names(name, tables[name])
        _check_texts(name, table)
        if odd := measurable.mistake(table):
            raise CaptureError(f"{odd}, in the table {name}")
        # A column of nulls is as long as any other.
        kept = [_shrunk(column) for column in table if column.null_count() < table.height]
        (table.select(kept) if kept else table).write_ipc(
            _file(Path(folder), name), record_batch_size=max(1, table.height)
        )
    all_tables = {name: tables.get(name, empty(name)) for name in SCHEMAS}
    told: dict[str, str] = reader.conditions(path, all_tables) if conditions else {}
    if part:
        told |= {section.PART: str(part)}
    return {"tables": list(tables), "conditions": told}


def _read(kind: Kind, path: Path, extent: Extent) -> tuple[Tables, Part | None]:
    """Return the tables of a capture, and the part that they are of if they are not of all."""
    if extent != "section":
        return (kind.read_brief(path) if extent == "totals" else kind.read(path)), None
    part = kind.section(path)
    tables = kind.read_section(path, part) if part else kind.read(path)
    if part is None and (part := section.of(tables)):
        tables = section.cut(tables, part)
    if part and not part.events:
        raise CaptureError(f"more than {section.MOST:,} events that begin at one time")
    return tables, part


def _shrunk(column: "pl.Series") -> "pl.Series":
    """Return integers as the narrowest that hold them, which are sooner written."""
    return column.shrink_dtype() if column.dtype.is_integer() else column


def _check_devices(tables: Tables) -> None:
    """Refuse more GPUs than any program has: each is analysed alone."""
    count = tables["gpu_ops"]["device"].n_unique() if "gpu_ops" in tables else 0
    if count > _MOST_DEVICES:
        raise CaptureError(f"operations of {count:,} GPUs; at most {_MOST_DEVICES} are told apart")


def _with_names(name: str, table: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table in which all that ran has a name."""
    import polars as pl

    if name not in _NAMED or not table["name"].null_count():
        return table
    return table.with_columns(pl.col("name").cast(pl.String).fill_null(_NO_NAME))


def _check_texts(name: str, table: "pl.DataFrame") -> None:
    """Refuse texts whose length alone would keep the analysis busy."""
    import polars as pl

    for column in table:
        if column.dtype == pl.Categorical:
            lengths = column.unique().cat.len_bytes()
        elif column.dtype == pl.String:
            lengths = column.unique().str.len_bytes()
        else:
            continue
        longest: Any = lengths.max()
        if (longest or 0) > _LONGEST_TEXT:
            raise CaptureError(f"a {column.name} of {longest:,} bytes, in the table {name}")
        if lengths.sum() > _MOST_TEXT:
            what = f"different values of {column.name} of more than {_MOST_TEXT >> 20} MB"
            raise CaptureError(f"{what}, in the table {name}")


def left(folder: Path, tables: Sequence[str]) -> Tables:
    """Return tables that were left in ``folder``; they stay as they are when it is gone."""
    import polars as pl

    frames = {table: pl.read_ipc(_file(folder, table)) for table in tables}
    return {
        table: frame(table, {column: rows[column] for column in rows.columns})
        for table, rows in frames.items()
    }


def _file(folder: Path, table: str) -> Path:
    if table not in SCHEMAS:
        raise CaptureError(f"no table of evidence: {table!r}")
    return folder / f"{table}.arrow"
