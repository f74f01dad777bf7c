"""How an export was recorded, against independent queries of it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.captures.nsys import conditions as nsys_conditions
from harness.captures.nsys import read as nsys
from tests.support.nsys_exports import altered, rows

OPTIONS, OVERHEAD = "META_DATA_CAPTURE", "PROFILER_OVERHEAD"


def told(path: Path) -> dict[str, str]:
    return nsys_conditions.conditions(path, nsys.read(path))


@pytest.mark.parametrize(
    ("name", "graphs"), [("graph_node", "by node"), ("graph_level", "as a whole")]
)
def test_the_tracing_of_graphs_is_told_by_the_options(
    name: str, graphs: str, tmp_path: Path
) -> None:
    path = altered(name, tmp_path)
    assert told(path)["tracing"] == f"CUDA, NVTX, cuBLAS; CUDA graphs {graphs}"
    assert ("tracing cost" in told(path)) == (graphs == "by node")


@pytest.mark.parametrize(
    ("name", "graphs"), [("graph_node", "by node"), ("graph_level", "as a whole")]
)
def test_the_tracing_of_graphs_is_told_by_the_rows_without_options(
    name: str, graphs: str, tmp_path: Path
) -> None:
    assert told(altered(name, tmp_path, f"DROP TABLE {OPTIONS}"))["tracing"] == (
        f"CUDA graphs {graphs}"
    )


def test_options_of_nsys_2026_belong_to_no_process(tmp_path: Path) -> None:
    path = altered(
        "graph_node",
        tmp_path,
        f"UPDATE {OPTIONS} SET name = 'CUDA_GRAPH_TRACE_OPTIONS:MODE', value = 'Graph'"
        " WHERE name LIKE '%GRAPH_TRACE_OPTIONS:MODE'",
        f"INSERT INTO {OPTIONS} VALUES ('CAPTURE_EVENT_TYPE', 'Vulkan')",
    )
    assert told(path)["tracing"] == "CUDA, NVTX, Vulkan, cuBLAS; CUDA graphs as a whole"


def test_an_export_of_2022_holds_a_message_of_bytes_and_names_its_version_elsewhere(
    tmp_path: Path,
) -> None:
    path = altered(
        "streams",
        tmp_path,
        "INSERT INTO TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, nameEnum, value)"
        " VALUES (1, 'Local (CLI)', 'GpuInfo', 897, CAST(x'0ae0010800ff' AS TEXT))",
        "DROP TABLE META_DATA_EXPORT",
        "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT)",
        "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_PRODUCT_VERSION', '2022.2.1.31')",
    )
    assert told(path)["profiler"] == "Nsight Systems 2022.2.1.31"
    assert "META_DATA" not in told(path)["not read"]
    assert told(path)["host"] == "Intel(R) Xeon(R) Processor, 16 CPUs, Ubuntu 24.04.3 LTS"


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("52510517", "525.105.17"),
        ("5157601", "515.76.01"),
        ("58160", "581.60"),
        ("580.159.04", "580.159.04"),
        ("42", "42"),
    ],
)
def test_a_drivers_version_has_dots(written: str, version: str, tmp_path: Path) -> None:
    set_to = f"UPDATE TARGET_INFO_SYSTEM_ENV SET value = '{written}' WHERE name = 'NvDriverVersion'"
    assert told(altered("streams", tmp_path, set_to))["driver"] == version


def test_host_and_cuda_are_told_as_the_system_says(tmp_path: Path) -> None:
    set_to = "UPDATE TARGET_INFO_SYSTEM_ENV SET value = '{}' WHERE name = '{}'"
    path = altered("streams", tmp_path, set_to.format(12040, "CudaDriverVersion"))
    assert told(path)["CUDA"] == "12.4"
    assert told(path)["host"] == "Intel(R) Xeon(R) Processor, 16 CPUs, Ubuntu 24.04.3 LTS"
    path = altered("streams", tmp_path, set_to.format("unknown", "CpuDescription"))
    assert told(path)["host"] == "16 CPUs, Ubuntu 24.04.3 LTS"


def test_the_gpus_are_those_that_ran_something(tmp_path: Path) -> None:
    path = altered("processes", tmp_path, "UPDATE TARGET_INFO_GPU SET name = 'L4' WHERE id = 3")
    assert told(path)["GPU"] == "L4"  # the process's number 0 is GPU 3
    idle = altered(
        "processes",
        tmp_path,
        "UPDATE TARGET_INFO_GPU SET name = 'L4' WHERE id = 3",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
    )
    assert told(idle)["GPU"] == "L4, NVIDIA H200"


def test_time_that_nsys_took_is_counted_once_and_within_the_gpus_span(tmp_path: Path) -> None:
    path = altered("streams", tmp_path, "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY")
    ((first, last),) = rows(path, "SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    spans = [
        (first - 5_000_000, first + 1_000_000),  # begins before the GPU works
        (first + 2_000_000, first + 5_000_000),
        (first + 3_000_000, first + 4_000_000),  # within the one before
        (last + 1, last + 9_000_000),  # after
    ]
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"DELETE FROM {OVERHEAD}")
        file.executemany(f"INSERT INTO {OVERHEAD} VALUES (?, ?, 0, 0, 0)", spans)
        file.commit()
    assert told(path)["tracing cost"].startswith("nsys's own work took 4.0 ms of the GPU's span;")


def test_events_that_are_not_read_are_counted(tmp_path: Path) -> None:
    path = altered(
        "streams",
        tmp_path,
        "CREATE TABLE SCHED_EVENTS (start INTEGER, end INTEGER)",
        "INSERT INTO SCHED_EVENTS SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME",
        "CREATE TABLE GPU_METRICS (timestamp INTEGER)",
        "CREATE VIEW MPI_P2P_EVENTS AS SELECT start FROM SCHED_EVENTS",
    )
    counts = {
        table: rows(path, f"SELECT count(*) FROM {table}")[0][0]
        for table in ("SCHED_EVENTS", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
    }
    assert counts["SCHED_EVENTS"] > 100
    assert told(path)["not read"] == (
        f"SCHED_EVENTS ({counts['SCHED_EVENTS']}), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
        f" ({counts['CUPTI_ACTIVITY_KIND_SYNCHRONIZATION']}), CUPTI_ACTIVITY_KIND_CUDA_EVENT (1)"
    )


def test_what_an_export_does_not_tell_is_left_out(tmp_path: Path) -> None:
    silent = ("TARGET_INFO_SYSTEM_ENV", "META_DATA_EXPORT", OPTIONS, "ANALYSIS_DETAILS", OVERHEAD)
    unnamed = ("TARGET_INFO_GPU", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    path = altered("graph_level", tmp_path, *(f"DROP TABLE {name}" for name in silent + unnamed))
    assert set(told(path)) == {"not read"}


def test_the_profiler_the_driver_and_the_duration_are_the_exports_own(tmp_path: Path) -> None:
    path = altered("streams", tmp_path)
    (((version,),), ((driver,),), ((duration,),)) = (
        rows(path, query)
        for query in (
            "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'",
            "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'NvDriverVersion'",
            "SELECT duration FROM ANALYSIS_DETAILS",
        )
    )
    found = told(path)
    assert (found["profiler"], found["driver"]) == (f"Nsight Systems {version}", driver)
    assert found["recorded"] == f"{duration / 1e6:,.1f} ms"
    twice = "INSERT INTO ANALYSIS_DETAILS SELECT * FROM ANALYSIS_DETAILS"
    assert "recorded" not in told(altered("streams", tmp_path, twice))


@pytest.mark.parametrize("version", ["9" * 5000, "-1", "1.5", "x", ""])
def test_a_version_that_is_none_is_left_out(tmp_path: Path, version: str) -> None:
    change = f"UPDATE TARGET_INFO_SYSTEM_ENV SET value = '{version}' WHERE name LIKE 'Cuda%'"
    assert "CUDA" not in told(altered("streams", tmp_path, change))
