"""NVTX ranges of an export."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.captures.nsys.names import in_domains, named
from harness.captures.nsys.rows import timed
from harness.evidence.tables import frame

if TYPE_CHECKING:
    import polars as pl

NVTX = ("NVTX_EVENTS", "NVTX_EVENTS_V2", "NVTX_EVENTS_V3")
_TIMES = ("start", "end")
# ENUM_NSYS_EVENT_TYPE's NVTX rows with a beginning and an end: push/pop and start/end ranges, and
# the same two imported from NVTX text files.
_RANGE_TYPES = (59, 60, 70, 71)


def ranges(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    """Return the evidence's table ``ranges``; ``names``: StringIds, as id and value."""
    import polars as pl

    table = next(filter(file.columns, NVTX), NVTX[0])
    known = file.columns(table)
    labels: Columns = {"text": "TEXT", "textId": "INTEGER"}
    texts: Columns = {name: labels[name] for name in labels if name in known}
    domain = ("domainId",) if "domainId" in known else ()
    rows = timed(file, table, (*_TIMES, "eventType", "globalTid", *domain), texts)
    absent = {*labels, "domainId"} - set(rows.columns)
    rows = rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in absent)
    text = rows["text"].cast(pl.String)
    registered = named(rows["textId"], names).cast(pl.String)
    rows = rows.with_columns(name=text.zip_with(text.is_not_null(), registered))
    found = in_domains(rows).filter(pl.col("eventType").is_in(_RANGE_TYPES))
    return frame(
        "ranges",
        {
            "name": found["name"],
            "start_ns": found["start"],
            "duration_ns": found["end"] - found["start"],
            "thread": found["globalTid"],
        },
    )
