"""Evidence made by hand: rows as dictionaries, each with its cell, become whole typed tables."""

from typing import Any

import polars as pl

from harness.evidence import tables as evidence

Row = dict[str, Any]


def tables(**filled: list[Row]) -> evidence.Tables:
    """Return every table; one not given is empty, a column not given null."""
    return {name: _table(name, filled.get(name, [])) for name in evidence.SCHEMAS}


def cell(variant: str, number: int = 0, capture: str = "timing", **other: object) -> Row:
    """Return the row of a cell that ran well and was watched."""
    name = f"small.{variant}.{capture}.r{number}"
    known = {"cell": name, "variant": variant, "case": "small", "capture": capture}
    seen = {"round": number, "status": "ok", "doubt": "", "retried": "", "sm_mhz": 1980.0}
    return known | seen | other


def samples(of: Row, metric: str, *values: float, mark: str = "") -> list[Row]:
    """Return rows of a cell's samples of one metric."""
    return [
        {"cell": of["cell"], "metric": metric, "index": index, "value": value, "mark": mark}
        for index, value in enumerate(values)
    ]


def ceiling(gpu: str, name: str, value: float) -> Row:
    """Return the row of what a GPU reaches at most."""
    return {"cell": "", "gpu": gpu, "name": name, "value": value, "low": value, "high": value}


def in_three(once: evidence.Tables) -> evidence.Tables:
    """Return what three processes measured, each the same as the one whose tables are given."""
    return {
        name: table
        if "cell" not in table.columns or name == "ceilings"
        else pl.concat([_of_round(table, number) for number in range(3)])
        for name, table in once.items()
    }


def _of_round(table: pl.DataFrame, number: int) -> pl.DataFrame:
    cell = pl.col("cell").str.replace(r"\.r0$", f".r{number}")
    rows = table.with_columns(cell)
    if "round" not in rows.columns:
        return rows
    return rows.with_columns(pl.lit(number).cast(rows["round"].dtype).alias("round"))


def _table(name: str, rows: list[Row]) -> pl.DataFrame:
    columns = {key: [row.get(key) for row in rows] for key in evidence.SCHEMAS[name]}
    cells = pl.Series("cell", [row["cell"] for row in rows], dtype=pl.String)
    return evidence.frame(name, columns).insert_column(0, cells)
