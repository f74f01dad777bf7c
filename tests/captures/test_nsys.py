"""The reader of nsys exports against nsys's own statistics, and against files that lie."""

import csv
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from harness.analysis import timeline
from harness.captures import nsys, sniff
from harness.errors import CaptureError
from harness.evidence import Tables

DATA = Path(__file__).parents[1] / "data" / "nsys"
CAPTURES = ("streams", "graph_node", "graph_level", "memset_overlap")


def unpacked(name: str, folder: Path) -> Path:
    with sniff.opened(DATA / f"{name}.sqlite.zst") as plain:
        path = folder / f"{name}.sqlite"
        path.write_bytes(plain.read_bytes())
    return path


def read(name: str, folder: Path) -> Tables:
    return nsys.read(unpacked(name, folder))


def truth(name: str, report: str) -> list[dict[str, str]]:
    path = DATA / f"{name}_{report}.csv"
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


@pytest.mark.parametrize("name", CAPTURES)
def test_kernels_agree_with_nsys_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    ops = read(name, tmp_path)["gpu_ops"].filter(pl.col("kind") == "kernel")
    ours = {
        row["name"]: tuple(
            row[key] for key in ("count", "total_ns", "median_ns", "min_ns", "max_ns")
        )
        for row in timeline.kernel_table(ops).iter_rows(named=True)
    }
    theirs = {
        row["Name"]: (
            int(row["Instances"]),
            int(row["Total Time (ns)"]),
            float(row["Med (ns)"]),
            int(row["Min (ns)"]),
            int(row["Max (ns)"]),
        )
        for row in truth(name, "cuda_gpu_kern_sum")
    }
    assert theirs
    assert ours == theirs


@pytest.mark.parametrize("name", ["streams", "memset_overlap"])
def test_copies_agree_with_nsys_by_time_and_size(name: str, tmp_path: Path) -> None:
    ops = read(name, tmp_path)["gpu_ops"].filter(pl.col("kind").is_in(["copy", "memset"]))
    ours = {
        str(key[0]): (rows.height, rows["duration_ns"].sum(), rows["bytes"].sum())
        for key, rows in ops.group_by(pl.col("name").cast(pl.String))
    }
    sizes = {row["Operation"]: row for row in truth(name, "cuda_gpu_mem_size_sum")}
    times = truth(name, "cuda_gpu_mem_time_sum")
    assert set(ours) == {row["Operation"] for row in times}
    for row in times:
        count, total_ns, size = ours[row["Operation"]]
        assert (count, total_ns) == (int(row["Count"]), int(row["Total Time (ns)"]))
        assert f"{size / 1e6:.3f}" == sizes[row["Operation"]]["Total (MB)"]


@pytest.mark.parametrize("name", ["streams", "graph_node", "graph_level"])
def test_ranges_agree_with_nsys(name: str, tmp_path: Path) -> None:
    table = timeline.range_table(read(name, tmp_path)["ranges"])
    ours = {row["name"]: (row["count"], row["total_ns"]) for row in table.iter_rows(named=True)}
    theirs = {
        row["Range"].removeprefix(":"): (int(row["Instances"]), int(row["Total Time (ns)"]))
        for row in truth(name, "nvtx_sum")
    }
    assert ours == theirs


def test_a_graph_is_seen_by_node_or_as_one(tmp_path: Path) -> None:
    nodes = read("graph_node", tmp_path)["gpu_ops"]
    whole = read("graph_level", tmp_path)["gpu_ops"]
    assert nodes["graph_node"].drop_nulls().len() == nodes.height - 5  # five eager kernels
    assert whole.filter(pl.col("kind") == "graph").height == 5
    found = timeline.gpu_ops_in_ranges(nodes, *_host(read("graph_node", tmp_path)), "replay")
    assert found.group_by("step").len()["len"].n_unique() == 1


def _host(tables: Tables) -> tuple[pl.DataFrame, pl.DataFrame]:
    return tables["api_calls"], tables["ranges"]


def altered(tmp_path: Path, *statements: str) -> Path:
    path = unpacked("streams", tmp_path)
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
ENDLESS = (
    f"CREATE VIEW {KERNELS} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS start, x AS end, 0 AS deviceId FROM n"
)


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DROP TABLE StringIds"], "no export of Nsight Systems"),
        ([f"ALTER TABLE {KERNELS} DROP COLUMN gridX"], "has no column gridX"),
        ([f"UPDATE {KERNELS} SET end = start - 1"], "ends before it starts"),
        ([f"UPDATE {KERNELS} SET streamId = 'seven'"], "is damaged"),
    ],
)
def test_an_export_that_lies_is_refused(tmp_path: Path, statements: list[str], told: str) -> None:
    with pytest.raises(CaptureError, match=told) as caught:
        nsys.read(altered(tmp_path, *statements))
    assert "\n" not in str(caught.value)
    assert "streams.sqlite" in str(caught.value)


def test_an_endless_view_in_place_of_a_table_is_not_run(tmp_path: Path) -> None:
    path = altered(tmp_path, f"DROP TABLE {KERNELS}", ENDLESS)
    assert nsys.read(path)["gpu_ops"].filter(pl.col("kind") == "kernel").is_empty()


def test_a_name_that_leads_nowhere_is_shown_as_such(tmp_path: Path) -> None:
    path = altered(tmp_path, f"UPDATE {KERNELS} SET demangledName = 999999")
    names = nsys.read(path)["gpu_ops"].filter(pl.col("kind") == "kernel")["name"]
    assert names.cast(pl.String).unique().to_list() == ["[string 999999 is missing]"]


@pytest.mark.parametrize("name", ["a ?#%41 b.sqlite", 'it\'s "so".sqlite'])
def test_odd_file_names_are_read(tmp_path: Path, name: str) -> None:
    path = unpacked("streams", tmp_path).rename(tmp_path / name)
    assert nsys.read(path)["gpu_ops"].height > 0
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_other_files_are_refused_and_none_is_made(tmp_path: Path) -> None:
    whole = unpacked("streams", tmp_path).read_bytes()
    (tmp_path / "cut.sqlite").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "noise.sqlite").write_bytes(bytes(range(256)) * 99)
    for name in ("cut.sqlite", "noise.sqlite", "absent.sqlite"):
        with pytest.raises(CaptureError):
            nsys.read(tmp_path / name)
    assert not (tmp_path / "absent.sqlite").exists()


def test_a_locked_file_is_told(tmp_path: Path) -> None:
    path = unpacked("streams", tmp_path)
    writer = sqlite3.connect(path)
    writer.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(CaptureError, match="locked"):
            nsys.read(path)
    finally:
        writer.close()
