"""What a bare capture tells of where it was made, against what the file itself says."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import zstandard

from harness.captures import reading, sniff
from harness.evidence import tables as evidence
from harness.evidence.kinds import KINDS
from harness.ground.errors import CaptureError
from tests.support.paths import DATA, ROOT

EXPORTS = sorted((DATA / "nsys").glob("*.sqlite.zst"))
Tables = Mapping[str, tuple[str, Sequence[tuple[object, ...]]]]


def conditions_of(path: Path) -> dict[str, str]:
    kind = sniff.recognised(path)[0]
    with sniff.opened(path) as plain:
        return kind.conditions(plain, reading.read(kind, plain).tables)


def export(path: Path, tables: Tables) -> Path:
    """Write an SQLite file of tables: their columns and rows."""
    connection = sqlite3.connect(path)
    for name, (columns, rows) in tables.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        for row in rows:
            connection.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.name)
def test_an_export_is_told_as_sqlite_itself_reads_it(path: Path, tmp_path: Path) -> None:
    database = tmp_path / "export.sqlite"
    database.write_bytes(zstandard.decompress(path.read_bytes(), max_output_size=1 << 26))
    connection = sqlite3.connect(database)
    one = "SELECT DISTINCT {} FROM {} WHERE name = '{}'"
    system = "TARGET_INFO_SYSTEM_ENV"
    cuda = "(value / 1000) || '.' || (value % 1000 / 10)"
    version = "'Nsight Systems ' || value"
    expected = {
        "GPU": "SELECT DISTINCT name FROM TARGET_INFO_GPU",
        "driver": one.format("value", system, "NvDriverVersion"),
        "CUDA": one.format(cuda, system, "CudaDriverVersion"),
        "profiler": one.format(version, "META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION"),
        "recorded": "SELECT printf('%,d.%d ms', d / 10, d % 10)"
        " FROM (SELECT (duration + 50000) / 100000 AS d FROM ANALYSIS_DETAILS)",
    }
    truth = {what: connection.execute(query).fetchone()[0] for what, query in expected.items()}
    connection.close()
    for found in (KINDS["nsys"].conditions(database, {}), conditions_of(path)):
        assert {what: found[what] for what in truth} == truth
    assert truth["GPU"].startswith("NVIDIA")


def test_gpus_of_several_kinds_are_all_conditions_of(tmp_path: Path) -> None:
    names: list[tuple[object, ...]] = [("NVIDIA L4",), ("NVIDIA H200",), ("NVIDIA L4",), (None,)]
    path = export(tmp_path / "a.sqlite", {"TARGET_INFO_GPU": ("name TEXT", names)})
    assert KINDS["nsys"].conditions(path, {}) == {"GPU": "NVIDIA H200, NVIDIA L4"}


ODD: dict[str, Tables] = {
    "other tables": {"t": ("a", [])},
    "no rows": {
        "TARGET_INFO_GPU": ("name TEXT", []),
        "META_DATA_EXPORT": ("name TEXT, value TEXT", []),
    },
    "other columns": {
        "TARGET_INFO_GPU": ("model TEXT", [("L4",)]),
        "META_DATA_EXPORT": ("name TEXT, number INTEGER", [("EXPORT_PRODUCT_VERSION", 3)]),
    },
    "null and empty": {
        "TARGET_INFO_GPU": ("name TEXT", [(None,), ("",)]),
        "TARGET_INFO_SYSTEM_ENV": ("name TEXT, value TEXT", [("NvDriverVersion", None)]),
        "META_DATA_EXPORT": ("name TEXT, value TEXT", [("EXPORT_PRODUCT_VERSION", "")]),
    },
}


@pytest.mark.parametrize("tables", ODD.values(), ids=ODD)
def test_what_an_export_does_not_tell_is_not_there(tables: Tables, tmp_path: Path) -> None:
    assert KINDS["nsys"].conditions(export(tmp_path / "odd.sqlite", tables), {}) == {}


def test_a_view_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = export(tmp_path / "view.sqlite", {"t": ("name TEXT", [("NVIDIA H200",)])})
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIEW TARGET_INFO_GPU AS SELECT name FROM t")
    connection.commit()
    connection.close()
    with pytest.raises(CaptureError, match="TARGET_INFO_GPU is no table"):
        KINDS["nsys"].conditions(path, {})


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, {}),
        ({"device__attribute_multiprocessor_count": 0.0}, {}),
        ({"device__attribute_compute_capability_major": 10.0}, {}),
        ({"device__attribute_multiprocessor_count": 58.0}, {"SMs": "58"}),
        (
            {
                "device__attribute_compute_capability_major": 12.0,
                "device__attribute_compute_capability_minor": 1.0,
            },
            {"compute capability": "12.1"},
        ),
    ],
)
def test_counters_without_the_attributes(
    metrics: dict[str, float], expected: dict[str, str], tmp_path: Path
) -> None:
    columns = {"metric": list(metrics), "value": list(metrics.values())}
    tables = {"counters": evidence.frame("counters", columns)}
    report = tmp_path / "no_session.ncu-rep"
    report.write_bytes(b"NVR\0" + bytes(4))  # a file header without fields, and no block
    assert KINDS["ncu"].conditions(report, tables) == expected


@pytest.mark.parametrize("name", ["graph.pickle.zst", "stack_013_eager.json.gz"])
def test_a_memory_snapshot_tells_nothing(name: str) -> None:
    assert conditions_of(DATA / "memory" / name) == {}


def test_a_report_of_ncu_says_its_gpu_versions_and_how_it_profiled() -> None:
    told = conditions_of(DATA / "ncu" / "small.ncu-rep.zst")
    with sniff.opened(DATA / "ncu" / "small.ncu-rep.zst") as plain:
        (command,) = re.findall(rb"/ncu (--[ -~]+)", plain.read_bytes())[:1]
    assert b"--clock-control none" in command
    assert b"--cache-control" not in command
    assert told == {
        "GPU": "NVIDIA H200",
        "CUDA": "13.0",
        "profiler": "Nsight Compute 2025.3.1.0",
        "clock control": "none",
        "cache control": "all",
        "replay mode": "kernel",
        "compute capability": "9.0",
        "SMs": "132",
    }


def test_an_option_with_an_equals_sign_is_read_and_its_default_otherwise() -> None:
    told = conditions_of(DATA / "differences" / "same_1.ncu-rep.zst")
    assert (told["clock control"], told["replay mode"]) == ("base", "kernel")
    report = next(iter(sorted((ROOT / "reports").glob("4-*/*/captures/*.ncu-rep.zst"))))
    assert conditions_of(report)["clock control"] == "none"  # given as --clock-control=none
