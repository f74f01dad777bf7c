"""Two subjects side by side: what of them is compared, and which pairs are refused."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from harness.analysis.diff import compare
from harness.evidence import tables as evidence
from harness.evidence.subject import Folder, Subject
from harness.extract import door
from harness.ground import files
from harness.ground.errors import UsageError
from tests.support import reports
from tests.support.evidence_folders import vouch
from tests.support.paths import ROOT
from tests.support.subjects import subject as made

DATA = ROOT / "tests" / "data"
REPORT = reports.KEPT


def subject(text: object) -> Subject:
    known = door.opened(str(text))
    assert isinstance(known, Subject)
    return known


def folder(path: Path) -> Folder:
    known = door.opened(str(path))
    assert isinstance(known, Folder)
    return known


def changed_report(at: Path, **tables: pl.DataFrame) -> Path:
    """Copy the report's evidence, with other tables in place of its own."""
    shutil.copytree(REPORT / "evidence", at / "evidence")
    evidence.save(at / "evidence", tables)
    vouch(at / "evidence")
    return at


def test_two_cells_of_one_report_say_what_differs_in_packages() -> None:
    a, b = (subject(f"{REPORT}:stack-m1.{name}") for name in ("f8-0.13.0-eager", "f8-0.18.0-eager"))
    diff = compare.compare(a, b)
    assert {
        (condition.a, condition.b) for condition in diff.differing if condition.what == "torchao"
    } == {("0.13.0", "0.18.0")}
    assert "GPU" not in {condition.what for condition in diff.differing}
    assert diff.gpu_kind == "nsys"
    assert diff.gpu is not None
    assert sum(row.delta_ns for row in diff.gpu.rows) == diff.gpu.b_ns - diff.gpu.a_ns
    assert {ratio.metric for ratio in diff.timing} >= {"latency", "gpu_time"}
    assert min(ratio.ratio.rounds for ratio in diff.timing) == 5
    assert diff.counters
    assert diff.memory is not None


def test_a_cell_against_a_file_has_what_both_have() -> None:
    cell, file = subject(f"{REPORT}:stack-m1.bf16-eager"), subject(DATA / "torch/wait_lock.json.gz")
    diff = compare.compare(cell, file)
    assert (diff.gpu_kind, diff.timing, diff.counters, diff.memory) == ("torch", (), (), None)


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
    tables = whole.captures[kind].tables
    empty = {name: evidence.empty(name) for name in (table, "operators")}
    none = made("none", tables | empty, kind)
    for sides, where in (
        ((whole, none), "in the second"),
        ((none, whole), "in the first"),
        ((none, none), "in the first and the second"),
    ):
        diff = compare.compare(*sides)
        assert diff.refused == (f"{kind}: {what} {where}",)
        assert (diff.gpu, diff.counters, diff.memory) == (None, (), None)


def test_a_trace_of_the_cpu_alone_is_told_from_an_empty_one() -> None:
    whole = subject(DATA / "torch/streams.json.gz")
    host = whole.captures["torch"].tables | {"gpu_ops": evidence.empty("gpu_ops")}
    diff = compare.compare(whole, made("host", host, "torch"))
    assert diff.refused == ("torch: no GPU work in the second, only work of the CPU",)


def test_operations_that_are_not_timed_are_no_gpu_work() -> None:
    # A trace gives start and duration 0 to what it could not time; the reader makes both null.
    whole = subject(DATA / "torch/streams.json.gz")
    tables = dict(whole.captures["torch"].tables)
    tables["gpu_ops"] = tables["gpu_ops"].with_columns(duration_ns=pl.lit(None, pl.Int64))
    untimed = made("untimed", tables, "torch")
    assert compare.compare(whole, untimed).refused == ("torch: no GPU work in the second",)


def test_a_range_that_neither_capture_has_is_refused() -> None:
    capture = subject(DATA / "torch/streams.json.gz")
    with pytest.raises(UsageError, match="absent"):
        compare.compare(capture, capture, "absent")


def test_a_report_with_itself_is_not_told_apart() -> None:
    report = folder(REPORT)
    change = compare.compare_folders(report, report)
    assert (change.only_a, change.only_b) == ((), ())
    assert {(cell.case, cell.variant) for cell in change.cells} <= set(report.cells)
    ratios = [ratio for cell in change.cells for ratio in cell.timing]
    assert len(ratios) > 20
    assert {ratio.verdict for ratio in ratios} == {"not told apart", "described"}
    assert all(ratio.ratio.value == pytest.approx(1) for ratio in ratios)


def test_reports_of_two_runs_are_not_paired_and_say_what_only_one_has(tmp_path: Path) -> None:
    cells = evidence.load(REPORT / "evidence")["cells"]
    kept = (pl.col("case") == "stack-m1") & (pl.col("variant") != "bf16-eager")
    other = changed_report(tmp_path, cells=cells.filter(kept))
    path = tmp_path / "evidence" / "provenance.json"
    record = files.read_json(path)
    record["run"]["id"] = "another"
    files.write_json(path, record)
    change = compare.compare_folders(folder(REPORT), folder(other))
    assert "stack-m1.bf16-eager" in change.only_a
    assert {cell.case for cell in change.cells} == {"stack-m1"}
    assert "bf16-eager" not in {cell.variant for cell in change.cells}
    assert change.only_b == ()
    # The same samples, but nothing says that the rounds shared anything: wider than a point.
    ratios = [ratio.ratio for cell in change.cells for ratio in cell.timing]
    assert min(ratio.high - ratio.low for ratio in ratios) > 0


def test_folders_without_a_common_cell_are_refused(tmp_path: Path) -> None:
    cells = evidence.load(REPORT / "evidence")["cells"]
    other = changed_report(tmp_path, cells=cells.with_columns(case=pl.lit("elsewhere")))
    with pytest.raises(UsageError, match="no variant and case in common"):
        compare.compare_folders(folder(REPORT), folder(other))


def test_a_cell_whose_program_has_ranges_inside_its_steps_is_compared(tmp_path: Path) -> None:
    ranges = evidence.load(REPORT / "evidence")["ranges"]
    inner = ranges.with_columns(pl.lit("mlp").cast(pl.Categorical).alias("name"))
    other = changed_report(tmp_path, ranges=pl.concat([ranges, inner]))
    a, b = (subject(f"{path}:stack-m1.bf16-eager") for path in (REPORT, other))
    diff = compare.compare(a, b)
    assert diff.gpu is not None
    assert diff.gpu.a_ns == diff.gpu.b_ns
