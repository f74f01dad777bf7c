"""Reads a capture that somebody else made, within the budget for its size.

One budget bounds all readers (:mod:`harness.confined`): the reader runs in a process of its own and
leaves its tables as Arrow files, which this process maps.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import confined
from harness.captures.kind import Kind, Lazy
from harness.errors import CaptureError
from harness.evidence.tables import SCHEMAS, Tables, empty, frame

if TYPE_CHECKING:
    import polars as pl


_LONGEST_TEXT = 1 << 17
"""Bytes of one text: a kernel's name has up to 16 KB, an NVTX range of a server somewhat more."""
_MOST_TEXT = 16 << 20
"""Bytes of a table's different names."""


@dataclass(frozen=True)
class Capture:
    """A capture's contents: the evidence tables that it fills, and its recording's conditions."""

    tables: Tables
    conditions: dict[str, str]


def read(kind: Kind, plain: Path, *, brief: bool = False, conditions: bool = True) -> Capture:
    """Return the contents of the capture that lies unpacked at ``plain``.

    ``brief`` may leave out of a large one what links host calls to the operations they launched.
    Without ``conditions`` it is not asked for them.
    Raises CaptureError if it is damaged or spends its budget.
    """
    reader = kind.read_brief if brief and kind.read_brief else kind.read
    if reader is None:
        raise CaptureError(f"{kind.title}: in no file")
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        arguments = {
            "folder": name,
            "plain": str(plain.resolve()),
            "reader": reader.reference,
            "conditions": kind.conditions.reference if conditions and kind.conditions else "",
        }
        found = confined.call(f"{__name__}:leave", plain, folder, arguments, confined.budget(plain))
        tables = left(folder, found["tables"])
    return Capture(tables, found["conditions"])


def leave(folder: str, plain: str, reader: str, conditions: str) -> dict[str, object]:
    """Leave the tables that ``reader`` reads in ``folder``; return their names, and conditions."""
    path = Path(plain)
    tables = Lazy[[Path], Tables](reader)(path)
    for name, table in tables.items():
        _check_texts(name, table)
        # A column of nulls is as long as any other.
        kept = [_shrunk(column) for column in table if column.null_count() < table.height]
        (table.select(kept) if kept else table).write_ipc(
            _file(Path(folder), name), record_batch_size=max(1, table.height)
        )
    all_tables = {name: tables.get(name, empty(name)) for name in SCHEMAS}
    told = Lazy[[Path, Tables], dict[str, str]](conditions)(path, all_tables) if conditions else {}
    return {"tables": list(tables), "conditions": told}


def _shrunk(column: "pl.Series") -> "pl.Series":
    """Return integers as the narrowest that hold them, which are sooner written."""
    return column.shrink_dtype() if column.dtype.is_integer() else column


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

    found = {table: pl.read_ipc(_file(folder, table)) for table in tables}
    return {
        table: frame(table, {column: rows[column] for column in rows.columns})
        for table, rows in found.items()
    }


def _file(folder: Path, table: str) -> Path:
    if table not in SCHEMAS:
        raise CaptureError(f"no table of evidence: {table!r}")
    return folder / f"{table}.arrow"
