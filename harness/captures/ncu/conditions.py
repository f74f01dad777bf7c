"""The conditions of a report of Nsight Compute: GPU, versions, and options of the profiler."""

from pathlib import Path

from harness.captures.ncu.session import session
from harness.evidence.tables import Tables

_COUNT_OF_SMS = "device__attribute_multiprocessor_count"
_CAPABILITY = "device__attribute_compute_capability_"


def conditions(path: Path, tables: Tables) -> dict[str, str]:
    """Return the session's conditions, compute capability and number of SMs, where recorded.

    Raises CaptureError for a file that is damaged or cut.
    """
    import polars as pl

    rows = tables["counters"].with_columns(pl.col("metric").cast(pl.String))
    first = dict(rows.group_by("metric").agg(pl.col("value").first()).iter_rows())
    major, minor = (first.get(f"{_CAPABILITY}{part}") for part in ("major", "minor"))
    values = session(path)
    if major is not None and minor is not None:
        values["compute capability"] = f"{major:.0f}.{minor:.0f}"
    if first.get(_COUNT_OF_SMS):
        values["SMs"] = f"{first[_COUNT_OF_SMS]:.0f}"
    return values
