"""The one door: what a file, a cell, a run, a report or a folder becomes, and what is refused."""

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest
import zstandard

from harness.analysis.diff import compare
from harness.captures import reading, sniff
from harness.evidence import capture_list
from harness.evidence import tables as evidence
from harness.evidence.kind import Kind
from harness.evidence.subject import CaptureFiles, Folder, Subject
from harness.extract import door
from harness.ground.errors import CaptureError, HarnessError, UsageError
from harness.store import run_folder
from tests.support import reports
from tests.support.origins import origin
from tests.support.paths import ROOT
from tests.support.run_cells import cell

DATA = ROOT / "tests" / "data"
REPORT = reports.KEPT
FILES = {
    "nsys/streams.sqlite.zst": "nsys",
    "torch/streams.json.gz": "torch",
    "ncu/small.ncu-rep.zst": "ncu",
    "memory/graph.pickle.zst": "memory",
    "memory/stack_013_eager.json.gz": "memory",
}


def subject(text: object) -> Subject:
    known = door.opened(str(text))
    assert isinstance(known, Subject)
    return known


def folder(path: Path) -> Folder:
    known = door.opened(str(path))
    assert isinstance(known, Folder)
    return known


@pytest.mark.parametrize(("name", "kind"), FILES.items())
def test_a_file_is_one_capture_of_its_kind(name: str, kind: str) -> None:
    known = subject(DATA / name)
    assert list(known.captures) == [kind]
    assert known.label == str(DATA / name)
    (capture,) = known.captures.values()
    assert (capture.label, capture.kind) == (known.label, kind)
    assert list(capture.tables) == list(evidence.SCHEMAS)
    assert any(not table.is_empty() for table in capture.tables.values())
    diff = compare.compare(known, known)
    assert (diff.differing, diff.refused) == ((), ())


def test_a_report_has_its_finished_cells() -> None:
    known = folder(REPORT)
    cells = evidence.load(REPORT / "evidence")["cells"].filter(pl.col("status") == "ok")
    assert set(known.cells) == set(cells.select("case", "variant").rows())
    assert len(known.cells) == len(set(known.cells)) == 8


def test_a_cell_of_a_report_has_every_capture_of_it_and_all_rounds_of_its_times() -> None:
    known = subject(f"{REPORT}:stack-m1.f8-0.18.0-eager")
    assert list(known.captures) == ["timing", "nsys", "torch", "ncu", "memory"]
    assert known.run == json.loads((REPORT / "evidence/provenance.json").read_text())["run"]["id"]
    cells = {kind: set(each.tables["cells"]["cell"]) for kind, each in known.captures.items()}
    assert cells["timing"] == {f"stack-m1.f8-0.18.0-eager.timing.r{number}" for number in range(5)}
    assert cells["ncu"] == {"stack-m1.f8-0.18.0-eager.ncu.r0"}
    for kind, table in {"nsys": "gpu_ops", "ncu": "counters", "memory": "memory_sites"}.items():
        rows = known.captures[kind].tables[table]
        assert set(rows["cell"]) == cells[kind]
    assert known.captures["timing"].conditions["GPU"] == "NVIDIA H200"
    assert known.captures["timing"].conditions["torchao"] == "0.18.0"


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
    with pytest.raises(UsageError, match="no capture in it"):
        door.opened(str(tmp_path))
    with pytest.raises(UsageError, match="neither a run nor a report"):
        door.opened(f"{tmp_path}:a.b")


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


@pytest.mark.parametrize("name", ["nsys/streams.sqlite.zst", "torch/streams.json.gz"])
def test_a_file_is_sniffed_once_and_read_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    recognised, read = sniff.recognised, reading.read

    def counted_sniff(path: Path) -> sniff.Recognised:
        calls.append("sniffed")
        return recognised(path)

    def counted_read(kind: Kind, plain: Path, extent: reading.Extent) -> reading.Contents:
        calls.append("read")
        return read(kind, plain, extent)

    monkeypatch.setattr(sniff, "recognised", counted_sniff)
    monkeypatch.setattr(reading, "read", counted_read)
    subject(DATA / name)
    assert calls == ["sniffed", "read"]


def test_a_folder_of_captures_is_one_side_if_each_kind_is_there_once(tmp_path: Path) -> None:
    for name in ("nsys/streams.sqlite.zst", "ncu/small.ncu-rep.zst"):
        shutil.copy(DATA / name, tmp_path)
    captures = door.opened(str(tmp_path))
    assert isinstance(captures, CaptureFiles)
    assert set(captures.subject().captures) == {"nsys", "ncu"}
    shutil.copy(DATA / "nsys/graph_node.sqlite.zst", tmp_path)
    captures = door.opened(str(tmp_path))
    assert isinstance(captures, CaptureFiles)
    with pytest.raises(UsageError, match=r"2 nsys captures in the folder \(name one of its files"):
        captures.subject()


@pytest.mark.parametrize("place", ["captures", "cells"])
def test_a_capture_that_is_not_the_one_recorded_is_refused_as_a_file_and_in_its_folder(
    place: str, tmp_path: Path
) -> None:
    if place == "captures":
        committed = reports.committed("1-torchao-float8")
        source = next((committed / "captures").glob("*.trace.json.gz"))
        copy = tmp_path / "captures" / source.name
        (tmp_path / "evidence").mkdir()
        listed = committed / "evidence" / capture_list.NAME
        shutil.copy(listed, tmp_path / "evidence")
        copy.parent.mkdir()
        shutil.copy(source, copy)
        what = "is not the capture that was published"
    else:
        run = run_folder.Run.create(tmp_path, "9-example", origin())
        source = DATA / "torch/streams.json.gz"
        copy = cell(run, "torch", {"trace.json.gz": source}) / "trace.json.gz"
        what = "changed since it was recorded"
    assert list(subject(copy).captures) == ["torch"]
    flipped = bytearray(copy.read_bytes())
    flipped[0] ^= 1  # so it is not even recognised as compressed
    copy.write_bytes(flipped)
    for named in (copy, copy.parent):
        with pytest.raises(CaptureError, match=what) as error:
            door.opened(str(named))
        assert str(error.value).startswith(f"{copy}: ")
