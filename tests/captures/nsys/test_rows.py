"""Rows of an export, field by field, against what SQLite itself reads in it."""

from pathlib import Path

import polars as pl
import pytest

from harness.captures.nsys import names
from harness.captures.nsys import read as nsys
from harness.ground.errors import CaptureError
from tests.support.nsys_exports import altered, rows

KERNELS, COPIES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"
COLUMNS = {  # of gpu_ops: what SQLite makes of a kernel's row
    "name": "(SELECT value FROM StringIds WHERE id = demangledName)",
    "start_ns": "start",
    "duration_ns": "end - start",
    "device": "deviceId",
    "stream": "streamId",
    "grid": "gridX || ',' || gridY || ',' || gridZ",
    "block": "blockX || ',' || blockY || ',' || blockZ",
    "registers": "registersPerThread",
    "shared_bytes": "staticSharedMemory + dynamicSharedMemory",
    # Global ids hold the process in bits 24 to 47.
    "correlation": "(((globalPid >> 24) & 0xffffff) << 32) + correlationId",
}
GREATEST = "gridX = 2147483647, gridY = 65535, gridZ = 65535"  # CUDA C++ Programming Guide
SHARED = "staticSharedMemory = 16 * rowid, dynamicSharedMemory = 1024"


def kernels(path: Path) -> pl.DataFrame:
    ops = nsys.read(path)["gpu_ops"].filter(pl.col("kind") == "kernel")
    return ops.select(*COLUMNS).cast(dict.fromkeys(("name", "grid", "block"), pl.String))


@pytest.mark.parametrize("name", ["streams", "graph_node", "memset_overlap", "processes"])
def test_a_kernels_fields_are_those_of_its_row(name: str, tmp_path: Path) -> None:
    path = altered(
        name,
        tmp_path,
        f"UPDATE {KERNELS} SET {SHARED}, blockZ = 1 + rowid % 3",
        f"UPDATE {KERNELS} SET {GREATEST} WHERE rowid % 4 = 0",
    )
    theirs = rows(path, f"SELECT {', '.join(COLUMNS.values())} FROM {KERNELS} ORDER BY rowid")
    assert kernels(path).rows() == theirs


@pytest.mark.parametrize(
    "too_large", ["gridX = 2147483648", "gridY = 65536", "gridZ = 65536", "blockY = -1"]
)
def test_a_launch_larger_than_any_gpu_takes_is_refused(too_large: str, tmp_path: Path) -> None:
    path = altered("streams", tmp_path, f"UPDATE {KERNELS} SET {too_large} WHERE rowid = 3")
    with pytest.raises(CaptureError, match="a shape that no GPU takes"):
        nsys.read(path)


@pytest.mark.parametrize(("start", "end", "kept"), [(7, 7, 1), (0, 1, 1), (0, 9, 1), (0, 0, 0)])
def test_a_kernel_that_took_no_time_counts_and_one_without_times_does_not(
    start: int, end: int, kept: int, tmp_path: Path
) -> None:
    times = f"start = {start}, end = {end}"
    path = altered("streams", tmp_path, f"UPDATE {KERNELS} SET {times} WHERE rowid = 1")
    found = kernels(path).filter(pl.col("start_ns") == start)
    assert found["duration_ns"].to_list() == [end - start] * kept


def test_without_their_labels_kinds_are_named_as_nsys_names_them(tmp_path: Path) -> None:
    path = altered("streams", tmp_path)
    assert rows(path, "SELECT id, label FROM ENUM_CUDA_MEM_KIND") == [*names.MEMORY_KINDS.items()]
    labels = rows(path, "SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER ORDER BY id")
    for first in (0, 7):
        number = f"UPDATE {COPIES} SET copyKind = min(13, {first} + (rowid - 1) % 7)"
        path = altered("streams", tmp_path, number, "DROP TABLE ENUM_CUDA_MEMCPY_OPER")
        kinds = nsys.read(path)["gpu_ops"]["copy_kind"].cast(pl.String).drop_nulls()
        assert set(kinds) == {label for number, label in labels if first <= number < first + 7}


def test_processes_may_give_one_number_to_two_domains(tmp_path: Path) -> None:
    one, two = (process << 24 for process in (4711, 4712))
    path = altered(
        "streams",
        tmp_path,
        "DELETE FROM NVTX_EVENTS",
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, domainId, globalTid) VALUES"
        f" (1, NULL, 75, 'cuBLAS', 1, {one}), (1, NULL, 75, 'NCCL', 1, {two}),"
        f" (2, 3, 59, 'gemm', 1, {one + 5}), (2, 4, 60, 'sum', 1, {two + 5}),"
        f" (2, 5, 70, 'read', 2, {two}), (2, 6, 71, 'kept', 0, {two}), (2, 7, 61, 'no', 0, {two})",
    )
    found = nsys.read(path)["ranges"]
    assert found["name"].cast(pl.String).to_list() == ["cuBLAS:gemm", "NCCL:sum", "read", "kept"]
    assert found["thread"].to_list() == [one + 5, two + 5, two, two]
