"""The GPUs of an export, against what SQLite itself reads in it."""

from pathlib import Path

import polars as pl
import pytest

from harness.captures.nsys import read as nsys
from tests.support.nsys_exports import altered, rows

LINKS = "TARGET_INFO_CUDA_DEVICE"
PROPERTIES = {  # evidence column: what SQLite makes of TARGET_INFO_GPU
    "name": "name",
    "compute_capability": "computeMajor || '.' || computeMinor",
    "multiprocessors": "smCount",
    "sm_mhz": "clockRate / 1e6",
    "memory_bytes": "totalMemory",
    "bandwidth": "memoryBandwidth",
    "l2_bytes": "l2CacheSize",
}


@pytest.mark.parametrize("name", ["streams", "graph_level", "processes"])
def test_devices_have_the_properties_and_the_numbers_of_the_processes(
    name: str, tmp_path: Path
) -> None:
    path = altered(name, tmp_path)
    theirs = rows(
        path,
        f"SELECT DISTINCT cudaId, {', '.join(PROPERTIES.values())} FROM TARGET_INFO_GPU"
        f" JOIN {LINKS} ON gpuId = id ORDER BY cudaId",
    )
    found = nsys.read(path)["devices"]
    assert found.select("device", *PROPERTIES).rows() == theirs
    assert set(found["vendor"]) == {"NVIDIA"}


def test_the_second_gpu_of_a_machine_may_be_the_first_of_the_process(tmp_path: Path) -> None:
    # In this export the processes' number 0 is the machine's GPU 3.
    path = altered("processes", tmp_path, "UPDATE TARGET_INFO_GPU SET name = 'L4' WHERE id = 3")
    tables = nsys.read(path)
    names = dict(tables["devices"].select("device", "name").rows())
    assert names == {0: "L4", 1: "NVIDIA H200", 2: "NVIDIA H200", 3: "NVIDIA H200"}
    assert set(tables["gpu_ops"]["device"]) == {0}


@pytest.mark.parametrize("joins", [True, False])
def test_ranks_that_see_one_gpu_each_are_told_apart(joins: bool, tmp_path: Path) -> None:
    path = altered(
        "processes",
        tmp_path,
        f"DELETE FROM {LINKS} WHERE cudaId > 0",
        f"UPDATE {LINKS} SET gpuId = 1 WHERE pid = 24581",
    )
    tables = nsys.read(path, joins=joins)
    found = tables["gpu_ops"].group_by("device").agg(pl.len(), pl.col("duration_ns").sum())
    assert sorted(found.rows()) == rows(
        path,
        "SELECT gpuId, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL"
        f" JOIN {LINKS} ON cudaId = deviceId AND pid = (globalPid >> 24) & 0xffffff"
        " GROUP BY gpuId ORDER BY gpuId",
    )
    assert [row[0] for row in sorted(found.rows())] == [1, 3]
    assert tables["devices"]["device"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize("joins", [True, False])
def test_numbers_that_cannot_be_told_apart_name_no_gpu(joins: bool, tmp_path: Path) -> None:
    path = altered(
        "processes",
        tmp_path,
        f"UPDATE {LINKS} SET gpuId = 1 WHERE pid = 24581 AND cudaId = 0",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid",
    )
    tables = nsys.read(path, joins=joins)
    assert tables["devices"].is_empty()
    assert set(tables["gpu_ops"]["device"]) == {0}


def test_without_links_only_gpus_that_are_alike_are_named(tmp_path: Path) -> None:
    path = altered("processes", tmp_path, f"DROP TABLE {LINKS}")
    assert nsys.read(path)["devices"]["name"].to_list() == ["NVIDIA H200"] * 4
    unlike = altered(
        "processes",
        tmp_path,
        f"DROP TABLE {LINKS}",
        "UPDATE TARGET_INFO_GPU SET name = 'L4' WHERE id = 3",
    )
    assert nsys.read(unlike)["devices"].is_empty()


def test_what_an_export_does_not_know_of_a_gpu_is_null(tmp_path: Path) -> None:
    path = altered(
        "streams",
        tmp_path,
        "CREATE TABLE gpus AS SELECT id, name, smCount, 0 AS l2CacheSize FROM TARGET_INFO_GPU",
        "DROP TABLE TARGET_INFO_GPU",
        "ALTER TABLE gpus RENAME TO TARGET_INFO_GPU",
    )
    (device,) = nsys.read(path)["devices"].to_dicts()
    assert {key for key, value in device.items() if value is not None} == {
        *("device", "name", "vendor", "multiprocessors"),
    }
