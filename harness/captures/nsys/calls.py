"""Host calls of an export: into the CUDA runtime and the driver, waits and allocations too."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import SqliteFile
from harness.captures.nsys.names import named
from harness.captures.nsys.rows import correlation, timed
from harness.evidence.tables import frame

if TYPE_CHECKING:
    import polars as pl

CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_COLUMNS = ("start", "end", "globalTid", "correlationId", "nameId")
_VERSION = r"_v\d{4,5}$"
"""What nsys appends to a runtime call: the CUDA version that the call is of, cudaMalloc_v3020."""


def calls(file: SqliteFile, names: "pl.DataFrame", *, by_process: bool) -> "pl.DataFrame":
    """Return the evidence's table ``api_calls``; ``names``: StringIds, as id and value.

    ``by_process``: correlation ids are told apart by process, as those of the GPU operations.
    """
    import polars as pl

    rows = pl.concat([timed(file, table, _COLUMNS) for table in CALLS])
    unversioned = names.with_columns(pl.col("value").str.replace(_VERSION, ""))
    return frame(
        "api_calls",
        {
            "name": named(rows["nameId"], unversioned),
            "start_ns": rows["start"],
            "duration_ns": rows["end"] - rows["start"],
            "thread": rows["globalTid"],
            "correlation": correlation(rows, "globalTid" if by_process else None),
        },
    )
