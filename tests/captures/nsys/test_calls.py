"""Host calls of an export, against queries of it, and what they say without GPU work."""

from pathlib import Path

import polars as pl
import pytest

from harness.captures.nsys import read as nsys
from tests.support.nsys_exports import altered, rows

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
OPERATIONS = [f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET")]
# nsys appends the CUDA version to the runtime's calls, as in cudaMalloc_v3020 and _v11060; the
# driver's cuGetProcAddress_v2 is called so.
UNVERSIONED = """
    CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
         WHEN value GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 7)
         ELSE value END
"""


def without(name: str, folder: Path, *statements: str) -> Path:
    """Return an export whose GPU work is lost."""
    known = {table for (table,) in rows(altered(name, folder), "SELECT name FROM sqlite_master")}
    lost = [f"DROP TABLE {table}" for table in OPERATIONS if table in known]
    return altered(name, folder, *lost, *statements)


@pytest.mark.parametrize("name", ["streams", "memset_overlap", "processes"])
def test_calls_agree_with_sqlite_by_name_and_thread(name: str, tmp_path: Path) -> None:
    path = altered(name, tmp_path)
    calls = nsys.read(path)["api_calls"].cast({"name": pl.String})
    ours = calls.group_by("name", "thread").agg(
        pl.len(),
        pl.col("duration_ns").sum(),
        pl.col("start_ns").min(),
        (pl.col("correlation") % (1 << 32)).sum(),
    )
    theirs = rows(
        path,
        f"SELECT {UNVERSIONED} AS name, globalTid, count(*), sum(end - start), min(start),"
        f" sum(correlationId) FROM {CALLS} JOIN StringIds ON id = nameId GROUP BY name, globalTid",
    )
    assert sorted(ours.rows()) == sorted(theirs)
    assert not calls["correlation"].null_count()


def test_waits_allocations_and_loads_of_code_are_among_the_calls(tmp_path: Path) -> None:
    streams, processes = (
        set(nsys.read(altered(name, tmp_path))["api_calls"]["name"].cast(pl.String))
        for name in ("streams", "processes")
    )
    assert streams >= {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMalloc"}
    assert streams >= {"cudaHostAlloc", "cuLibraryLoadData", "cudaMemcpyAsync"}
    assert processes >= {"cudaFree", "cudaProfilerStop", "cuGetProcAddress_v2"}


def test_driver_calls_in_a_table_of_their_own_are_read_too(tmp_path: Path) -> None:
    whole = nsys.read(altered("streams", tmp_path))["api_calls"]
    path = altered(
        "streams",
        tmp_path,
        f"CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER AS SELECT * FROM {CALLS} WHERE eventClass = 1",
        f"DELETE FROM {CALLS} WHERE eventClass = 1",
    )
    assert nsys.read(path)["api_calls"].sort("start_ns").equals(whole.sort("start_ns"))
