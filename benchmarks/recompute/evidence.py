"""What evidence holds of a cell: the rows of its tables, its samples and the facts it stated."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

WARM_UP = "warm-up"


def table(evidence: Path, name: str) -> pl.DataFrame:
    """Return a table of evidence, names and kinds as text."""
    return _table(evidence / f"{name}.parquet")


@cache
def _table(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path).with_columns(pl.col(pl.Categorical).cast(pl.String))


@cache
def gpus(evidence: Path) -> dict[str, str]:
    """Return the GPU that each cell ran on, where the provenance says it."""
    told = json.loads((evidence / "provenance.json").read_text())
    return {cell["cell"]: str(cell.get("gpu") or "") for cell in told["cells"]}


def cells(evidence: Path, metric: dict[str, Any], variant: str, case: str) -> dict[int, str]:
    """Return the cells that a metric is from, by round."""
    rows = table(evidence, "cells").filter(
        pl.col("status") == "ok",
        pl.col("variant") == variant,
        pl.col("case") == case,
        pl.col("capture") == metric.get("capture", "timing"),
    )
    rows = rows.sort("round")
    if start := metric.get("start"):
        gpu = pl.col("cell").replace_strict(gpus(evidence), default="")
        first = pl.col("round") == 0
        rows = rows.filter(first if start == "first" else ~first & ~gpu.is_first_distinct())
    return dict(rows.select("round", "cell").iter_rows())


def samples(evidence: Path, cell: str, name: str, region: str) -> list[float]:
    """Return a process's samples, without its warm-up; of all regions if none is named."""
    rows = table(evidence, "samples").filter(
        pl.col("cell") == cell, pl.col("metric") == name, pl.col("mark").fill_null("") != WARM_UP
    )
    return (rows.filter(pl.col("region") == region) if region else rows)["value"].to_list()


def fact(evidence: Path, cell: str, name: str) -> float | None:
    """Return a number that a process stated."""
    rows = table(evidence, "facts").filter(pl.col("cell") == cell, pl.col("name") == name)
    return next(iter(rows["value"].drop_nulls()), None)
