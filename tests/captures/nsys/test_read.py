"""The reader of nsys exports against nsys's own statistics, and against files that lie."""

import contextlib
import csv
import os
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.analysis import timeline
from harness.captures import sniff
from harness.captures.formats import sqlite_file
from harness.captures.nsys import read as nsys
from harness.evidence import dropped, section
from harness.evidence.tables import Tables, empty
from harness.ground.errors import CaptureError
from tests.support.paths import DATA

DATA = DATA / "nsys"
CAPTURES = ("streams", "graph_node", "graph_level", "memset_overlap", "processes")


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


def summary(rows: pl.DataFrame, column: str = "duration_ns") -> dict[str, tuple[float, ...]]:
    """Count, total, median, least and most by name."""
    value = pl.col(column)
    figures = (pl.len(), value.sum(), value.median(), value.min(), value.max())
    named = rows.with_columns(pl.col("name").cast(pl.String))
    table = named.group_by("name").agg(
        figure.cast(pl.Float64).alias(str(index)) for index, figure in enumerate(figures)
    )
    return {str(name): tuple(rest) for name, *rest in table.iter_rows()}


def without_memory(ops: pl.DataFrame) -> pl.DataFrame:
    """Take off what nsys's own statistics leave out: which kinds of memory a copy connects."""
    return ops.with_columns(pl.col("name").cast(pl.String).str.replace(r" \(.*\)$", ""))


def times(rows: list[dict[str, str]], name: str, count: str) -> dict[str, tuple[float, ...]]:
    columns = (count, "Total Time (ns)", "Med (ns)", "Min (ns)", "Max (ns)")
    return {row[name].removeprefix(":"): tuple(float(row[key]) for key in columns) for row in rows}


@pytest.mark.parametrize("name", CAPTURES)
def test_kernels_agree_with_nsys_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    ops = read(name, tmp_path)["gpu_ops"]
    theirs = times(truth(name, "cuda_gpu_kern_sum"), "Name", "Instances")
    assert theirs
    assert summary(ops.filter(pl.col("kind") == "kernel")) == theirs


@pytest.mark.parametrize("name", ["streams", "memset_overlap"])
def test_copies_agree_with_nsys_by_time_and_size(name: str, tmp_path: Path) -> None:
    moved = pl.col("kind").is_in(["copy", "memset"])
    ops = without_memory(read(name, tmp_path)["gpu_ops"].filter(moved))
    theirs = times(truth(name, "cuda_gpu_mem_time_sum"), "Operation", "Count")
    assert theirs
    assert summary(ops) == theirs
    columns = ("Total (MB)", "Med (MB)", "Min (MB)", "Max (MB)")
    sizes = {
        row["Operation"]: [row[key] for key in columns]
        for row in truth(name, "cuda_gpu_mem_size_sum")
    }
    ours = summary(ops, "bytes").items()
    assert {name: [f"{size / 1e6:.3f}" for size in found[1:]] for name, found in ours} == sizes


@pytest.mark.parametrize("name", ["streams", "graph_node", "graph_level", "processes"])
def test_ranges_agree_with_nsys_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    theirs = times(truth(name, "nvtx_sum"), "Range", "Instances")
    assert theirs
    assert summary(read(name, tmp_path)["ranges"]) == theirs


def test_launches_of_two_processes_with_the_same_ids_are_told_apart(tmp_path: Path) -> None:
    tables = read("processes", tmp_path)
    shared = tables["gpu_ops"]["correlation"] % (1 << 32)
    assert shared.n_unique() < shared.len()  # both processes count from one
    assert (tables["gpu_ops"]["correlation"] // (1 << 32)).n_unique() == 2
    assert tables["gpu_ops"]["correlation"].n_unique() == shared.len()
    found = timeline.gpu_ops_in_ranges(tables["gpu_ops"], tables, "step")
    assert found["step"].to_list() == [0, 1, 2, 3, 4, 5]
    assert found["name"].cast(pl.String).str.contains("sum_functor").all()


def test_without_joins_the_rest_is_the_same(tmp_path: Path) -> None:
    path = unpacked("graph_node", tmp_path)
    whole, brief = nsys.read(path), nsys.read(path, joins=False)
    assert set(brief) == {"gpu_ops", "devices", "ranges", "autograd_threads", "dropped"}
    absent = ("correlation", "graph_node", "stream", "shared_bytes")
    for name in brief:
        left = whole[name].drop(absent, strict=False)
        assert brief[name].drop(absent, strict=False).equals(left)


def test_only_a_large_export_is_read_without_joins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpacked("graph_node", tmp_path)
    whole = nsys.read_brief(path)
    assert whole["api_calls"].equals(nsys.read(path)["api_calls"])
    kernels = (whole["gpu_ops"]["kind"] == "kernel").sum()
    monkeypatch.setattr(nsys, "LARGE", kernels - 1)
    assert "api_calls" not in nsys.read_brief(path)
    monkeypatch.setattr(nsys, "LARGE", kernels)
    assert "api_calls" in nsys.read_brief(path)


def test_a_kernel_without_times_is_left_out(tmp_path: Path) -> None:
    whole = nsys.read(unpacked("streams", tmp_path))["gpu_ops"]
    first = f"(SELECT min(rowid) FROM {KERNELS})"
    path = altered(tmp_path, f"UPDATE {KERNELS} SET start = 0, end = 0 WHERE rowid = {first}")
    assert nsys.read(path)["gpu_ops"].equals(whole[1:])


def test_a_table_read_in_parts_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = altered(tmp_path, f"DELETE FROM {KERNELS} WHERE rowid % 3 = 0")
    whole = nsys.read(path)
    monkeypatch.setattr(sqlite_file, "_PART_ROWS", 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    for name, rows in nsys.read(path).items():
        assert rows.equals(whole[name])


def test_a_column_that_shadows_the_row_number_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = altered(tmp_path, f"ALTER TABLE {KERNELS} ADD COLUMN rowid TEXT")
    monkeypatch.setattr(sqlite_file, "_PART_ROWS", 4)
    assert nsys.read(path)["gpu_ops"].equals(read("streams", tmp_path)["gpu_ops"])


def test_a_graph_is_seen_by_node_or_as_one(tmp_path: Path) -> None:
    tables = read("graph_node", tmp_path)
    nodes = tables["gpu_ops"]
    whole = read("graph_level", tmp_path)["gpu_ops"]
    assert nodes["graph_node"].drop_nulls().len() == nodes.height - 5  # five eager kernels
    assert whole.filter(pl.col("kind") == "graph").height == 5
    found = timeline.gpu_ops_in_ranges(nodes, tables, "replay")
    assert found.group_by("step").len()["len"].n_unique() == 1


def test_autograd_s_threads_are_those_that_torch_names_so(tmp_path: Path) -> None:
    whole = nsys.read(unpacked("streams", tmp_path))
    assert whole["autograd_threads"].is_empty()
    (main,) = whole["ranges"]["thread"].unique()
    engine, of_another_process = main + 3, main + (1 << 24)
    named = "INSERT INTO ThreadNames (nameId, priority, globalTid) VALUES"
    path = altered(
        tmp_path,
        "INSERT INTO StringIds (id, value) VALUES (900001, 'pt_autograd_0'), (900002, 'pt_main')",
        f"{named} (900001, 20, {engine}), (900002, 20, {main + 4})",
        f"{named} (900001, 20, {of_another_process})",
    )
    assert nsys.read(path)["autograd_threads"].rows() == [(engine, main)]
    path = altered(tmp_path, "DROP TABLE ThreadNames")
    assert nsys.read(path)["autograd_threads"].is_empty()


def altered(tmp_path: Path, *statements: str) -> Path:
    path = unpacked("streams", tmp_path)
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
NEVER_ENDS = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
MANY = "WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 70000)"
LAX = (  # the same rows in a table that forbids nothing
    f"CREATE TABLE lax AS SELECT * FROM {KERNELS}",
    f"DROP TABLE {KERNELS}",
    f"ALTER TABLE lax RENAME TO {KERNELS}",
)


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DROP TABLE StringIds"], "no export of Nsight Systems"),
        (["CREATE TABLE rocpd_kernel_dispatch_9 (start)"], r"rocprofv3 \(rocpd\) is not read"),
        ([f"ALTER TABLE {KERNELS} DROP COLUMN gridX"], "has no column gridX"),
        ([*LAX, f"UPDATE {KERNELS} SET start = NULL"], "without a start"),
        ([f"UPDATE {KERNELS} SET gridY = 65536 WHERE rowid = 2"], "gridX, gridY, gridZ"),
        ([f"UPDATE {KERNELS} SET streamId = 'seven'"], "column streamId holds other things"),
        ([f"UPDATE {KERNELS} SET end = end + 0.5 WHERE rowid = 9"], "column end holds other"),
        (
            [
                f"{MANY} INSERT INTO {KERNELS} SELECT k.* FROM {KERNELS} k, n WHERE k.rowid = 1",
                f"UPDATE {KERNELS} SET end = 'seven' WHERE rowid = 69000",
            ],
            "Type mismatch",
        ),
        (["UPDATE StringIds SET value = CAST(x'ff41' AS TEXT)"], "invalid utf8"),
        (
            [f"DROP TABLE {KERNELS}", f"CREATE VIEW {KERNELS} AS {NEVER_ENDS} SELECT * FROM n"],
            "is no table",
        ),
        ([f"DROP TABLE {KERNELS}", f"CREATE VIRTUAL TABLE {KERNELS} USING fts5(start)"], "a view"),
        (
            [
                f"ALTER TABLE {KERNELS} DROP COLUMN gridX",
                f"ALTER TABLE {KERNELS} ADD COLUMN gridX AS ({'hex(' * 20}zeroblob(99){')' * 20})",
            ],
            "computed columns",
        ),
    ],
)
def test_an_export_that_lies_is_refused(tmp_path: Path, statements: list[str], told: str) -> None:
    with pytest.raises(CaptureError, match=told) as caught:
        nsys.read(altered(tmp_path, *statements))
    assert "\n" not in str(caught.value)
    assert "streams.sqlite" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        (KERNELS, "end = start - 1", "3 of 49 kernels end before they start"),
        (KERNELS, "start = -(1 << 62) - 1, end = 1 << 62", "3 of 49 kernels end before"),
        (KERNELS, "start = 0, end = 0", "3 of 49 kernels have no time"),
        ("NVTX_EVENTS", "end = start - 1", "ranges end before they start"),
    ],
)
def test_rows_without_a_time_are_dropped_and_counted(
    table: str, change: str, told: str, tmp_path: Path
) -> None:
    whole = nsys.read(unpacked("streams", tmp_path))
    some = f"rowid IN (SELECT rowid FROM {table} WHERE end > start LIMIT 3)"
    tables = nsys.read(altered(tmp_path, f"UPDATE {table} SET {change} WHERE {some}"))
    name = "gpu_ops" if table == KERNELS else "ranges"
    assert tables[name].height == whole[name].height - 3
    (row,) = tables["dropped"].iter_rows(named=True)
    assert (row["table"], row["count"]) == (name, 3)
    assert told in dropped.sentences(tables["dropped"])[0]
    assert "conditions" not in whole
    assert whole["dropped"].is_empty()


def test_tables_with_a_version_in_their_names_are_read_like_plain_ones(tmp_path: Path) -> None:
    plain = nsys.read(unpacked("streams", tmp_path))
    versions = {KERNELS: 2, "CUPTI_ACTIVITY_KIND_RUNTIME": 10, "NVTX_EVENTS": 3}
    renamed = [f"ALTER TABLE {name} RENAME TO {name}_V{at}" for name, at in versions.items()]
    older = f"CREATE TABLE {KERNELS}_V1 AS SELECT * FROM {KERNELS}_V2 LIMIT 0"
    tables = nsys.read(altered(tmp_path, *renamed, older))
    assert all(tables[name].equals(plain[name]) for name in plain)


def test_a_table_that_is_not_there_gives_no_rows(tmp_path: Path) -> None:
    lazy = [KERNELS, COPIES, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_GPU"]
    tables = nsys.read(altered(tmp_path, *(f"DROP TABLE {name}" for name in lazy)))
    assert {name: rows.height for name, rows in tables.items()} == dict.fromkeys(tables, 0)
    for name, rows in tables.items():
        assert rows.schema == empty(name).schema


def test_what_older_exports_lack_is_not_measured(tmp_path: Path) -> None:
    lacking = ("staticSharedMemory", "registersPerThread", "graphNodeId", "globalPid")
    marks = ("META_DATA_EXPORT", "META_DATA_CAPTURE", "ENUM_NSYS_EVENT_TYPE")
    path = altered(
        tmp_path,
        *(f"ALTER TABLE {KERNELS} DROP COLUMN {column}" for column in lacking),
        *(f"DROP TABLE {table}" for table in (*marks, "TARGET_INFO_SYSTEM_ENV")),
    )
    ours, whole = nsys.read(path)["gpu_ops"], read("streams", tmp_path)["gpu_ops"]
    for column in ("shared_bytes", "registers", "graph_node"):
        assert ours[column].null_count() == ours.height
    same = ["name", "start_ns", "duration_ns", "grid", "block", "copy_kind"]
    assert ours.select(same).equals(whole.select(same))


def test_checks_and_triggers_of_a_file_do_not_run(tmp_path: Path) -> None:
    endless = f"({NEVER_ENDS} SELECT max(start) FROM n)"
    path = altered(
        tmp_path,
        "CREATE TABLE s (id INTEGER, value TEXT CHECK (length(hex(zeroblob(1 << 29))) = 0))",
        "PRAGMA ignore_check_constraints = ON",
        f"{MANY} INSERT INTO s SELECT n.v + 1000000, 'x' FROM n",
        "INSERT INTO s SELECT * FROM StringIds",
        "DROP TABLE StringIds",
        "ALTER TABLE s RENAME TO StringIds",
        f"CREATE TRIGGER t AFTER INSERT ON {KERNELS} BEGIN SELECT {endless}; END",
    )
    assert nsys.read(path)["gpu_ops"].height > 0


def forged(path: Path, table: str) -> Path:
    """Make each pointer of ``table``'s root page lead to the same child."""
    with sqlite3.connect(path) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
    connection.close()
    content = bytearray(path.read_bytes())
    page = (root - 1) * size
    assert content[page] == 5  # an interior page: 12 bytes of header, then pointers to its cells
    cells = int.from_bytes(content[page + 3 : page + 5], "big")
    assert cells > 20
    child = content[page + 8 : page + 12]
    for index in range(cells):
        at = page + 12 + 2 * index
        cell = page + int.from_bytes(content[at : at + 2], "big")
        content[cell : cell + 4] = child
    path.write_bytes(content)
    return path


def test_pages_that_are_many_times_in_a_table_are_refused(tmp_path: Path) -> None:
    wide = "'" + "x" * 1000 + "'"
    path = altered(
        tmp_path, f"{MANY} INSERT INTO StringIds SELECT v + 9999, {wide} FROM n LIMIT 90"
    )
    with pytest.raises(CaptureError, match="StringIds is damaged"):
        nsys.read(forged(path, "StringIds"))


def test_no_more_rows_are_read_than_a_file_has_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_ROW_BYTES", 1 << 20)
    with pytest.raises(CaptureError, match="more rows than the file has room for"):
        nsys.read(unpacked("streams", tmp_path))


def test_copies_tell_between_which_kinds_of_memory(tmp_path: Path) -> None:
    names = read("streams", tmp_path)["gpu_ops"].filter(pl.col("kind") == "copy")["name"]
    assert names.cast(pl.String).value_counts().sort("name").rows() == [
        ("[CUDA memcpy Device-to-Device] (Device -> Device)", 3),
        ("[CUDA memcpy Device-to-Host] (Device -> Pageable)", 3),
        ("[CUDA memcpy Host-to-Device] (Pageable -> Device)", 3),
        ("[CUDA memcpy Host-to-Device] (Pinned -> Device)", 3),
    ]


def test_names_that_lead_nowhere_are_shown_as_such(tmp_path: Path) -> None:
    path = altered(
        tmp_path,
        f"UPDATE {KERNELS} SET demangledName = 999999",
        f"UPDATE {COPIES} SET copyKind = 99",
        "UPDATE NVTX_EVENTS SET text = NULL, textId = 999999",
    )
    tables = nsys.read(path)
    names = tables["gpu_ops"]["name"].cast(pl.String).unique()
    assert {name.partition(" (")[0] for name in names} == {
        "[string 999999 is missing]",
        "[CUDA memcpy [copy kind 99 is missing]]",
    }
    assert set(tables["ranges"]["name"].cast(pl.String)) == {"[string 999999 is missing]"}


@pytest.mark.parametrize("labels", ["kept", "dropped"])
def test_copies_are_named_with_and_without_the_files_own_labels(
    labels: str, tmp_path: Path
) -> None:
    dropped = ["DROP TABLE ENUM_CUDA_MEMCPY_OPER"] if labels == "dropped" else []
    path = altered(tmp_path, f"UPDATE {COPIES} SET copyKind = 11 WHERE rowid = 1", *dropped)
    kinds = nsys.read(path)["gpu_ops"]["copy_kind"].cast(pl.String).drop_nulls()
    unified = "Unified Host-to-Device"
    assert set(kinds) == {unified, "Host-to-Device", "Device-to-Host", "Device-to-Device"}


def test_ranges_are_named_by_text_and_by_id_in_any_order(tmp_path: Path) -> None:
    path = altered(
        tmp_path,
        "DELETE FROM NVTX_EVENTS",
        "INSERT INTO StringIds VALUES (999, 'registered')",
        f"{MANY} INSERT INTO NVTX_EVENTS (start, end, eventType, textId) "
        "SELECT v, v + 1, 59, 999 FROM n",
        "INSERT INTO NVTX_EVENTS (start, eventType, text) VALUES (80000, 60, 'late')",
        "INSERT INTO NVTX_EVENTS (start, eventType, text) VALUES (80001, 34, 'a mark')",
    )
    found = nsys.read(path)["ranges"].with_columns(pl.col("name").cast(pl.String))
    counted = found.group_by("name").agg(pl.len(), pl.col("duration_ns").null_count().alias("open"))
    assert sorted(counted.iter_rows()) == [("late", 1, 1), ("registered", 70000, 0)]


def test_the_probes_steps_are_read_from_its_domain(tmp_path: Path) -> None:
    # Recorded on an H200: harness run 1 --case stack-m1 --variant bf16-eager --capture nsys.
    path = unpacked("probe_marks", tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        steps = file.execute(
            "SELECT start, end - start, int64Value FROM NVTX_EVENTS WHERE eventType = 59"
            " AND domainId = (SELECT domainId FROM NVTX_EVENTS WHERE text = 'worklogs')"
            " AND category = (SELECT category FROM NVTX_EVENTS WHERE text = 'step') ORDER BY start"
        ).fetchall()
    assert [payload for _, _, payload in steps] == [0, 1, 2, 3]
    ranges = nsys.read(path)["ranges"].filter(pl.col("name").cast(pl.String) == "step:forward")
    assert ranges.select("start_ns", "duration_ns").rows() == [step[:2] for step in steps]


def test_ranges_of_a_library_show_their_domain_and_the_probes_own_do_not(tmp_path: Path) -> None:
    path = altered(
        tmp_path,
        "DELETE FROM NVTX_EVENTS",
        "INSERT INTO NVTX_EVENTS (start, eventType, text, domainId, globalTid) VALUES"
        " (1, 75, 'cuBLAS', 7, 0), (1, 75, 'worklogs', 8, 0)",
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, domainId, globalTid) VALUES"
        " (2, 3, 59, 'gemm', 7, 0), (2, 4, 59, 'step:x', 8, 0), (2, 5, 59, 'mine', 0, 0)",
    )
    names = nsys.read(path)["ranges"]["name"].cast(pl.String).to_list()
    assert names == ["cuBLAS:gemm", "step:x", "mine"]


def test_ids_that_stand_for_two_names_give_the_rows_once(tmp_path: Path) -> None:
    path = altered(
        tmp_path,
        "CREATE TABLE s AS SELECT * FROM StringIds UNION ALL SELECT id, 'other' FROM StringIds",
        "DROP TABLE StringIds",
        "ALTER TABLE s RENAME TO StringIds",
    )
    assert nsys.read(path)["gpu_ops"].height == read("streams", tmp_path)["gpu_ops"].height


@pytest.mark.parametrize("name", ["a ?#%41 b.sqlite", 'it\'s "so".sqlite', "\udcff.sqlite"])
def test_odd_file_names_are_read(tmp_path: Path, name: str) -> None:
    path = unpacked("streams", tmp_path).rename(tmp_path / name)
    assert nsys.read(path)["gpu_ops"].height > 0
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_other_files_are_refused_and_none_is_made(tmp_path: Path) -> None:
    whole = unpacked("streams", tmp_path).read_bytes()
    (tmp_path / "cut.sqlite").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "noise.sqlite").write_bytes(bytes(range(256)) * 99)
    os.mkfifo(tmp_path / "pipe.sqlite")
    for name in ("cut.sqlite", "noise.sqlite", "pipe.sqlite", "absent.sqlite", "."):
        with pytest.raises(CaptureError):
            nsys.read(tmp_path / name)
    assert not (tmp_path / "absent.sqlite").exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=64))))
def test_a_file_with_flipped_bytes_is_read_or_refused(
    tmp_path: Path, flips: list[tuple[float, bytes]]
) -> None:
    path = unpacked("streams", tmp_path)
    content = bytearray(path.read_bytes())
    for where, new in flips:
        at = int(where * len(content))
        content[at : at + len(new)] = new
    path.write_bytes(content)
    with contextlib.suppress(CaptureError):
        tables = nsys.read(path)
        for name, rows in tables.items():
            assert rows.schema == empty(name).schema
            rows.to_dicts()


def test_a_log_beside_the_file_is_read_too(tmp_path: Path) -> None:
    path = unpacked("streams", tmp_path)
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(f"DELETE FROM {KERNELS} WHERE rowid > 3")
    writer.commit()
    try:
        assert nsys.read(path)["gpu_ops"].filter(pl.col("kind") == "kernel").height == 3
    finally:
        writer.close()


def test_a_locked_file_is_told(tmp_path: Path) -> None:
    path = unpacked("streams", tmp_path)
    writer = sqlite3.connect(path)
    writer.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(CaptureError, match="locked"):
            nsys.read(path)
    finally:
        writer.close()


@pytest.mark.parametrize("name", ["streams", "graph_node", "processes"])
@pytest.mark.parametrize("most", [20, 60])
def test_a_section_is_read_as_it_is_cut(
    name: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpacked(name, tmp_path)
    monkeypatch.setattr(section, "MOST", most)
    part = nsys.section(path)
    assert part is not None
    assert 0 < part.events <= most < part.of
    whole = section.cut(nsys.read(path), part)
    read = nsys.read(path, part=part)
    assert read.keys() == whole.keys()
    for table in section.TIMED:
        assert read[table].equals(whole[table]), table
    monkeypatch.setattr(section, "MOST", part.of)
    assert nsys.section(path) is None


@pytest.mark.parametrize("at", [2**63 - 1, -(2**63)])
def test_a_section_of_times_at_the_ends_of_64_bits(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = altered(tmp_path, f"UPDATE {KERNELS} SET start = {at} WHERE rowid % 5 = 0")
    monkeypatch.setattr(section, "MOST", 60)
    part = nsys.section(path)
    assert part is not None
    assert 0 < part.events <= 60


def test_a_section_of_events_at_one_time_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = altered(tmp_path, "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 9, end = 9")
    monkeypatch.setattr(section, "MOST", 60)
    part = nsys.section(path)
    assert part is not None
    assert part.events == 0
