"""Threads of torch's autograd engine, by the names that torch gives them."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import SqliteFile
from harness.captures.nsys.rows import process_id
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

_NAMES = "ThreadNames"
_ENGINE = r"^pt_autograd_\d+$"
"""One thread a device (torch/csrc/autograd/engine.cpp, Engine::thread_init)."""


def autograd_threads(
    file: SqliteFile, names: "pl.DataFrame", ranges: "pl.DataFrame"
) -> "pl.DataFrame":
    """Return the evidence's table ``autograd_threads``; none where the export names no threads.

    ``names``: StringIds, as id and value. Served are the threads of the process that have ranges.
    """
    import polars as pl

    if not file.columns(_NAMES):
        return empty("autograd_threads")
    named = file.fetch(_NAMES, {"nameId": "INTEGER", "globalTid": "INTEGER"}).drop_nulls()
    meant = names.drop_nulls().filter(pl.col("value").str.contains(_ENGINE))
    engine = named.join(meant, left_on="nameId", right_on="id", how="semi").select(
        process_id("globalTid").alias("process"), thread="globalTid"
    )
    served = ranges.select(serves="thread").drop_nulls().unique()
    pairs = (
        served.with_columns(process=process_id("serves"))
        .join(engine, on="process")
        .filter(pl.col("serves") != pl.col("thread"))
        .sort("thread", "serves")
    )
    return frame("autograd_threads", {key: pairs[key] for key in ("thread", "serves")})
