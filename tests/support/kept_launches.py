"""Launches of problem 6 on an H200, which tests/data keeps."""

from functools import cache

import polars as pl

from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables
from tests.support.paths import DATA

SICK = {
    "cache-thrash-deep-stencil": "cache-thrash",
    "uncoalesced-transpose": "uncoalesced",
    "tile-quantisation-padded-rows": "tile-quantisation",
    "register-spills-few-warps": "register-spills",
    "tensor-cores-unused-upcast-product": "tensor-cores-unused",
}
"""Cases of which both twins are kept, and what was planted."""


@cache
def tables(cell: str) -> Tables:
    """Return the evidence of a cell, ``CASE.VARIANT``."""
    made = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    for name in ("counters", "instructions"):
        rows = pl.read_parquet(DATA / "launches" / f"{name}.parquet")
        mine = rows.filter(pl.col("cell") == cell).drop("cell")
        made[name] = pl.concat([made[name], mine], how="diagonal_relaxed")
    assert made["counters"].height
    return made


def capture(cell: str) -> Capture:
    """Return the evidence of a cell as a capture by ncu."""
    return Capture("zoo", tables(cell), {}, "ncu")
