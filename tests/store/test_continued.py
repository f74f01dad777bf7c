"""A report as a run that goes on: what its folder then holds, and that it publishes the same."""

import shutil
from pathlib import Path

import pytest

from harness.evidence import capture_list, provenance
from harness.evidence import tables as evidence
from harness.extract.run import extract
from harness.ground.errors import CaptureError, StoreError, UsageError
from harness.problem import manifest
from harness.report import completeness, kept_captures, recorded
from harness.store import continued
from tests.support.paths import ROOT
from tests.support.reports import KEPT, committed, copied

STUDY = "12-split-a-model"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A copy of a published report."""
    return copied(committed(STUDY), tmp_path / "reports")


def test_a_run_that_adds_nothing_has_the_report_s_evidence_and_captures(
    report: Path, tmp_path: Path
) -> None:
    run = continued.opened(report).begun(tmp_path / "runs")
    shutil.rmtree(report)
    published = committed(STUDY)
    assert continued.opened(run.folder).provenance == continued.opened(published).provenance
    made = tmp_path / "made"
    tables = extract(run, made / "evidence")
    for name, table in evidence.load(published / "evidence").items():
        assert tables[name].sort(table.columns).equals(table.sort(table.columns)), name
    problem = manifest.find(ROOT / "problems", "12")
    prepared = kept_captures.prepare(problem, run, completeness.measured(tables), made)
    pages = (published / "README.md").read_text(encoding="utf-8")
    kept_captures.divide(prepared, pages, made, tmp_path / "store")
    listed = capture_list.read(published / "evidence")
    assert listed
    assert listed.captures
    assert capture_list.read(made / "evidence") == listed
    for path in (published / "captures").iterdir():
        assert (made / "captures" / path.name).read_bytes() == path.read_bytes()


def test_a_deep_check_of_the_run_checks_the_report_that_it_holds(
    report: Path, tmp_path: Path
) -> None:
    run = continued.opened(report).begun(tmp_path / "runs")
    checked = recorded.of_run(run.folder)
    assert checked.faults == []
    assert len(checked.sizes) == 1 + sum(path.is_file() for path in report.rglob("*"))
    (run.folder / "report/evidence/samples.parquet").write_bytes(b"other")
    next((run.folder / "report/captures").iterdir()).unlink()
    faults = recorded.of_run(run.folder).faults
    assert sorted((fault.file.split("/")[1], fault.what.partition(":")[0]) for fault in faults) == [
        ("captures", "is missing"),
        ("evidence", "changed since it was recorded"),
    ]


def test_a_capture_that_is_not_the_published_one_makes_no_run(report: Path, tmp_path: Path) -> None:
    capture = next((report / "captures").iterdir())
    capture.write_bytes(capture.read_bytes() + b"x")
    with pytest.raises(CaptureError, match="is not the capture that was published"):
        continued.opened(report).begun(tmp_path / "runs")
    assert not list((tmp_path / "runs").rglob("run.json"))


def test_a_link_in_a_report_is_not_followed(report: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key", encoding="utf-8")
    (report / "evidence/more.parquet").symlink_to(secret)  # no record lists it
    run = continued.opened(report).begun(tmp_path / "runs")
    assert not (run.folder / "report/evidence/more.parquet").exists()
    table = report / "evidence/samples.parquet"
    table.unlink()
    table.symlink_to(committed(STUDY) / "evidence/samples.parquet")
    with pytest.raises(StoreError, match=r"samples\.parquet"):
        continued.opened(report).begun(tmp_path / "other")


def test_a_table_with_the_name_of_a_path_is_refused(report: Path, tmp_path: Path) -> None:
    origin = provenance.load(report / "evidence")
    tables = origin.tables | {"../../../x": origin.tables["samples"]}
    provenance.write(report / "evidence", origin.model_copy(update={"tables": tables}))
    with pytest.raises(UsageError, match="cannot be a file name"):
        continued.opened(report).begun(tmp_path / "runs")
    assert not list(tmp_path.rglob("x.parquet"))


def test_damaged_evidence_is_not_gone_on_with(report: Path, tmp_path: Path) -> None:
    (report / "evidence/provenance.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError):
        continued.opened(report).begun(tmp_path / "runs")


def test_a_report_that_lists_no_captures_does_not_go_on(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it does not list its captures"):
        continued.opened(KEPT).begun(tmp_path / "runs")
    assert not list((tmp_path / "runs").rglob("run.json"))


def test_a_folder_that_is_neither_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="neither a run's folder"):
        continued.opened(tmp_path)
