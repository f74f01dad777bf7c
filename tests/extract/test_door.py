"""What two sides of a comparison may be, and what is told of each pair that may not."""

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest
import zstandard

from harness.analysis.diff import compare
from harness.errors import CaptureError, HarnessError, UsageError
from harness.evidence import tables as evidence
from harness.evidence.subject import Folder, Subject
from harness.extract import door
from tests.support import reports
from tests.support.paths import ROOT

DATA = ROOT / "tests" / "data"
REPORT = reports.committed("1-torchao-float8")
FILES = {
    "nsys/streams.sqlite.zst": "nsys",
    "torch/streams.json.gz": "torch",
    "ncu/small.ncu-rep.zst": "ncu",
    "memory/graph.pickle.zst": "memory",
    "memory/stack_013_eager.json.gz": "memory",
}


def subject(text: object) -> Subject:
    found = door.opened(str(text))
    assert isinstance(found, Subject)
    return found


def folder(path: Path) -> Folder:
    found = door.opened(str(path))
    assert isinstance(found, Folder)
    return found


def changed_report(at: Path, **tables: pl.DataFrame) -> Path:
    """Copy the report's evidence, with other tables in place of its own."""
    shutil.copytree(REPORT / "evidence", at / "evidence")
    evidence.save(at / "evidence", tables)
    return at


@pytest.mark.parametrize(("name", "kind"), FILES.items())
def test_a_file_is_one_capture_of_its_kind(name: str, kind: str) -> None:
    found = subject(DATA / name)
    assert list(found.captures) == list(found.conditions) == [kind]
    assert found.label == str(DATA / name)
    (tables,) = found.captures.values()
    assert list(tables) == list(evidence.SCHEMAS)
    assert any(not table.is_empty() for table in tables.values())
    diff = compare.compare(found, found)
    assert (diff.differing, diff.refused) == ((), ())


def test_a_report_has_its_finished_cells() -> None:
    found = folder(REPORT)
    cells = evidence.load(REPORT / "evidence")["cells"].filter(pl.col("status") == "ok")
    assert set(found.cells) == set(cells.select("case", "variant").rows())
    assert len(found.cells) == len(set(found.cells)) > 30


def test_a_cell_of_a_report_has_every_capture_of_it_and_all_rounds_of_its_times() -> None:
    found = subject(f"{REPORT}:stack-m1.f8-0.18.0-eager")
    assert list(found.captures) == ["timing", "nsys", "torch", "ncu", "memory"]
    assert found.run == json.loads((REPORT / "evidence/provenance.json").read_text())["run"]["id"]
    cells = {kind: set(tables["cells"]["cell"]) for kind, tables in found.captures.items()}
    assert cells["timing"] == {f"stack-m1.f8-0.18.0-eager.timing.r{one}" for one in range(5)}
    assert cells["ncu"] == {"stack-m1.f8-0.18.0-eager.ncu.r0"}
    for kind, table in {"nsys": "gpu_ops", "ncu": "counters", "memory": "memory_sites"}.items():
        rows = found.captures[kind][table]
        assert set(rows["cell"]) == cells[kind]
    assert found.conditions["timing"]["GPU"] == "NVIDIA H200"
    assert found.conditions["timing"]["torchao"] == "0.18.0"


def test_two_cells_of_one_report_say_what_differs_in_packages() -> None:
    a, b = (subject(f"{REPORT}:stack-m1.{name}") for name in ("f8-0.13.0-eager", "f8-0.18.0-eager"))
    diff = compare.compare(a, b)
    assert {(one.a, one.b) for one in diff.differing if one.what == "torchao"} == {
        ("0.13.0", "0.18.0")
    }
    assert "GPU" not in {one.what for one in diff.differing}
    assert diff.gpu_kind == "nsys"
    assert diff.gpu is not None
    assert sum(row.delta_ns for row in diff.gpu.rows) == diff.gpu.b_ns - diff.gpu.a_ns
    assert {one.metric for one in diff.timing} >= {"latency", "gpu_time"}
    assert min(one.ratio.rounds for one in diff.timing) == 5
    assert diff.counters
    assert diff.memory is not None


def test_a_cell_against_a_file_has_what_both_have() -> None:
    cell, file = subject(f"{REPORT}:stack-m1.bf16-eager"), subject(DATA / "torch/streams.json.gz")
    diff = compare.compare(cell, file)
    assert (diff.gpu_kind, diff.timing, diff.counters, diff.memory) == ("torch", (), (), None)


@pytest.mark.parametrize(
    "cell", ["stack-m1.absent", "absent.bf16-eager", "stack-m1", "", ".", "stack-m1:bf16-eager"]
)
def test_an_unknown_cell_is_told_with_those_that_there_are(cell: str) -> None:
    with pytest.raises(HarnessError) as error:
        door.opened(f"{REPORT}:{cell}")
    assert error.value.exit_code == 2
    if ":" not in cell:
        assert "stack-m1.bf16-eager" in str(error.value)
        assert "llama-3.1-8b.bf16-compiled" in str(error.value)


def test_what_is_no_capture_run_or_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no capture")
    for text in (tmp_path / "absent", f"{tmp_path}/absent:a.b", tmp_path / "notes.txt"):
        with pytest.raises(CaptureError) as error:
            door.opened(str(text))
        assert str(text) in str(error.value)
    with pytest.raises(UsageError, match="neither a run nor a report"):
        door.opened(str(tmp_path))


def test_a_file_whose_name_has_a_colon_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "report:case.variant"
    shutil.copy(DATA / "memory/graph.pickle.zst", path)
    assert list(subject(path).captures) == ["memory"]


def test_a_damaged_capture_is_told_by_the_users_name_of_it(tmp_path: Path) -> None:
    path = tmp_path / "cut.sqlite.zst"
    path.write_bytes((DATA / "nsys/streams.sqlite.zst").read_bytes()[:9000])
    with pytest.raises(CaptureError) as error:
        door.opened(str(path))
    assert error.value.where == str(path)


def test_an_odd_export_is_told_by_the_users_name_of_it(tmp_path: Path) -> None:
    database = tmp_path / "odd.sqlite"
    packed = (DATA / "nsys/streams.sqlite.zst").read_bytes()
    database.write_bytes(zstandard.decompress(packed, max_output_size=1 << 26))
    connection = sqlite3.connect(database)
    connection.execute("ALTER TABLE TARGET_INFO_GPU RENAME TO moved")
    connection.execute("CREATE VIEW TARGET_INFO_GPU AS SELECT name FROM moved")
    connection.commit()
    connection.close()
    path = tmp_path / "odd.gz"
    path.write_bytes(gzip.compress(database.read_bytes(), 1))
    with pytest.raises(CaptureError, match="no table but a view") as error:
        door.opened(str(path))
    assert error.value.where == str(path)


def test_captures_of_different_kinds_are_refused() -> None:
    a, b = subject(DATA / "memory/graph.pickle.zst"), subject(DATA / "ncu/small.ncu-rep.zst")
    with pytest.raises(UsageError, match=r"memory of the first, ncu of the second .*one kind"):
        compare.compare(a, b)


@pytest.mark.parametrize(
    ("name", "kind", "table", "what"),
    [
        ("torch/streams.json.gz", "torch", "gpu_ops", "no GPU work"),
        ("ncu/small.ncu-rep.zst", "ncu", "counters", "no profiled kernel"),
        ("memory/graph.pickle.zst", "memory", "memory_pools", "no measurement"),
    ],
)
def test_an_empty_capture_is_not_compared_and_it_is_told_why(
    name: str, kind: str, table: str, what: str
) -> None:
    whole = subject(DATA / name)
    tables = whole.captures[kind]
    none = Subject("none", {kind: tables | {table: evidence.empty(table)}}, whole.conditions)
    for sides, told in (
        ((whole, none), "in the second"),
        ((none, whole), "in the first"),
        ((none, none), "in the first and the second"),
    ):
        diff = compare.compare(*sides)
        assert diff.refused == (f"{kind}: {what} {told}",)
        assert (diff.gpu, diff.counters, diff.memory) == (None, (), None)


def test_operations_that_are_not_timed_are_no_gpu_work() -> None:
    # A trace gives start and duration 0 to what it could not time; the reader makes both null.
    whole = subject(DATA / "torch/streams.json.gz")
    tables = dict(whole.captures["torch"])
    tables["gpu_ops"] = tables["gpu_ops"].with_columns(duration_ns=pl.lit(None, pl.Int64))
    untimed = Subject("untimed", {"torch": tables}, whole.conditions)
    assert compare.compare(whole, untimed).refused == ("torch: no GPU work in the second",)


def test_a_range_that_neither_capture_has_is_refused() -> None:
    one = subject(DATA / "torch/streams.json.gz")
    with pytest.raises(UsageError, match="absent"):
        compare.compare(one, one, "absent")


def test_a_report_with_itself_is_not_told_apart() -> None:
    one = folder(REPORT)
    found = compare.compare_folders(one, one)
    assert (found.only_a, found.only_b) == ((), ())
    assert {(cell.case, cell.variant) for cell in found.cells} <= set(one.cells)
    ratios = [ratio for cell in found.cells for ratio in cell.timing]
    assert len(ratios) > 100
    assert {ratio.verdict for ratio in ratios} == {"not told apart"}
    assert all(ratio.ratio.value == pytest.approx(1) for ratio in ratios)


def test_reports_of_two_runs_are_not_paired_and_say_what_only_one_has(tmp_path: Path) -> None:
    cells = evidence.load(REPORT / "evidence")["cells"]
    kept = (pl.col("case") == "stack-m1") & (pl.col("variant") != "bf16-eager")
    other = changed_report(tmp_path, cells=cells.filter(kept))
    path = tmp_path / "evidence" / "provenance.json"
    told = json.loads(path.read_text())
    told["run"]["id"] = "another"
    path.write_text(json.dumps(told))
    found = compare.compare_folders(folder(REPORT), folder(other))
    assert "stack-m1.bf16-eager" in found.only_a
    assert {cell.case for cell in found.cells} == {"stack-m1"}
    assert "bf16-eager" not in {cell.variant for cell in found.cells}
    assert found.only_b == ()
    # The same samples, but nothing says that the rounds shared anything: wider than a point.
    widths = [one.ratio.high - one.ratio.low for cell in found.cells for one in cell.timing]
    assert min(widths) > 0


def test_folders_without_a_common_cell_are_refused(tmp_path: Path) -> None:
    cells = evidence.load(REPORT / "evidence")["cells"]
    other = changed_report(tmp_path, cells=cells.with_columns(case=pl.lit("elsewhere")))
    with pytest.raises(UsageError, match="no variant and case in common"):
        compare.compare_folders(folder(REPORT), folder(other))


def test_a_cell_whose_program_has_ranges_inside_its_steps_is_compared(tmp_path: Path) -> None:
    ranges = evidence.load(REPORT / "evidence")["ranges"]
    inner = ranges.with_columns(pl.lit("mlp").cast(pl.Categorical).alias("name"))
    other = changed_report(tmp_path, ranges=pl.concat([ranges, inner]))
    a, b = (subject(f"{one}:stack-m1.bf16-eager") for one in (REPORT, other))
    diff = compare.compare(a, b)
    assert diff.gpu is not None
    assert diff.gpu.a_ns == diff.gpu.b_ns
