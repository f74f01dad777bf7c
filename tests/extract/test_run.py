"""Extraction: what was published is what is read, and what was announced is what is found."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from harness.captures import reading, sniff
from harness.evidence import provenance
from harness.evidence import tables as evidence
from harness.evidence.kind import Kind
from harness.extract import run as extraction
from harness.ground import files
from harness.ground.errors import EvidenceError
from harness.store import run_folder
from tests.support.origins import origin
from tests.support.paths import DATA
from tests.support.run_cells import cell


@pytest.fixture
def run(tmp_path: Path) -> run_folder.Run:
    return run_folder.Run.create(tmp_path / "runs", "9-example", origin())


@pytest.fixture
def export(tmp_path: Path) -> Path:
    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as plain:
        return Path(shutil.copyfile(plain, tmp_path / "streams.sqlite"))


def nsys_cell(run: run_folder.Run, export: Path, declared: dict[str, int]) -> Path:
    report = DATA / "nsys/streams.nsys-rep"
    workload = {"samples": [], "facts": [], "declared": declared, "packages": {}}
    artifacts = {"trace.sqlite": export, "trace.nsys-rep": report}
    return cell(run, "nsys", artifacts, workload=workload)


def status(run: run_folder.Run, tmp_path: Path) -> tuple[str, str]:
    cells = extraction.extract(run, tmp_path / "evidence")["cells"]
    return cells["status"][0], cells["reason"][0]


def test_a_whole_capture_becomes_tables_that_name_their_cell(
    run: run_folder.Run, export: Path, tmp_path: Path
) -> None:
    nsys_cell(run, export, {"step": 3})
    tables = extraction.extract(run, tmp_path / "evidence")
    assert tables["cells"]["status"].to_list() == ["ok"]
    assert tables["gpu_ops"]["cell"].unique().to_list() == ["small.fast.nsys.r0"]
    assert list(tables) == list(evidence.SCHEMAS)


def test_a_report_that_nothing_reads_may_be_gone_but_not_another(
    run: run_folder.Run, export: Path, tmp_path: Path
) -> None:
    folder = nsys_cell(run, export, {"step": 3})
    (folder / "trace.nsys-rep").write_bytes(b"another")
    assert "trace.nsys-rep: changed" in status(run, tmp_path)[1]
    (folder / "trace.nsys-rep").unlink()
    assert status(run, tmp_path) == ("ok", "")
    (folder / "trace.sqlite").unlink()
    assert "trace.sqlite: the cell left no such file" in status(run, tmp_path)[1]


def test_of_one_cell_no_other_is_read(
    run: run_folder.Run, export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys_cell(run, export, {"step": 3})
    cell(run, "torch", {"trace.json.gz": DATA / "torch/streams.json.gz"}, variant="slow")
    read: list[str] = []
    one = reading.read

    def noted(kind: Kind, path: Path, *, conditions: bool) -> reading.Contents:
        read.append(kind.name)
        return one(kind, path, conditions=conditions)

    monkeypatch.setattr(reading, "read", noted)
    tables = extraction.extract(run, tmp_path / "evidence", "small.fast")
    assert tables["cells"].select("variant", "status").rows() == [("fast", "ok"), ("slow", "ok")]
    assert tables["gpu_ops"]["cell"].unique().to_list() == ["small.fast.nsys.r0"]
    assert read == ["nsys"]


def test_a_capture_with_fewer_steps_than_declared_is_unusable(
    run: run_folder.Run, export: Path, tmp_path: Path
) -> None:
    nsys_cell(run, export, {"step": 4})
    state, reason = status(run, tmp_path)
    assert state == "unusable"
    assert "3 ranges named 'step', but 4 were recorded" in reason


def test_a_changed_byte_is_noticed_before_it_is_read(
    run: run_folder.Run, export: Path, tmp_path: Path
) -> None:
    folder = nsys_cell(run, export, {"step": 3})
    with (folder / "trace.sqlite").open("r+b") as file:
        file.seek(5000)
        file.write(b"\xff")
    state, reason = status(run, tmp_path)
    assert state == "unusable"
    assert "changed since it was recorded" in reason


def test_ncu_has_to_show_as_many_kernels_as_it_said(run: run_folder.Run, tmp_path: Path) -> None:
    with sniff.opened(DATA / "ncu/small.ncu-rep.zst") as plain:
        cell(run, "ncu", {"counters.ncu-rep": plain}, counted={"kernels": 99})
    assert "but 99 were recorded" in status(run, tmp_path)[1]


def test_of_two_records_the_newest_whole_one_counts(run: run_folder.Run, tmp_path: Path) -> None:
    workload = {
        "samples": [{"region": "r", "metric": "wall_time", "unit": "ms", "index": 0, "value": 7.0}],
        "facts": [{"name": "weights", "unit": "weights", "value": 4.0, "text": None}],
        "declared": {},
        "packages": {},
    }
    folder = cell(run, "timing", {}, workload=workload)
    failed = files.read_json(folder / run_folder.RECORD) | {"status": "failed", "started": 9.0}
    files.write_json(
        run.folder / "cells" / "small.fast.timing.r0-later" / run_folder.RECORD, failed
    )
    tables = extraction.extract(run, tmp_path / "evidence")
    assert tables["cells"].height == 1
    assert tables["samples"]["value"].to_list() == [7.0]
    assert tables["facts"].filter(pl.col("name") == "weights")["value"].to_list() == [4.0]


def test_evidence_of_another_version_is_refused(
    run: run_folder.Run, export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys_cell(run, export, {"step": 3})
    extraction.extract(run, tmp_path / "evidence")
    monkeypatch.setattr(evidence, "VERSION", 3)
    with pytest.raises(EvidenceError, match=r"version 2, this harness reads 3"):
        evidence.load(tmp_path / "evidence")


def test_provenance_is_plain_json(run: run_folder.Run, export: Path, tmp_path: Path) -> None:
    nsys_cell(run, export, {"step": 3})
    extraction.extract(run, tmp_path / "evidence")
    json.loads((tmp_path / "evidence" / provenance.FILE).read_text())
    (cell,) = provenance.load(tmp_path / "evidence").cells
    assert set(cell.artifacts) == {"trace.sqlite", "trace.nsys-rep"}


def test_more_cells_than_a_report_holds_are_refused_at_once(
    run: run_folder.Run, export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = nsys_cell(run, export, {"step": 3})
    monkeypatch.setattr(extraction, "MOST_CELLS", 1)
    assert status(run, tmp_path) == ("ok", "")
    shutil.copytree(folder, folder.with_name("small.fast.nsys.r1"))
    with pytest.raises(EvidenceError, match=r"2 cells, evidence holds at most 1"):
        extraction.extract(run, tmp_path / "evidence")
