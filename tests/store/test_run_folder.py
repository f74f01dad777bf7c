"""The run folder: what it records is read back, and damage is named by file and key."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

from harness.cli.resolve import note_unsealed
from harness.ground import files
from harness.ground.errors import EvidenceError, HarnessError, StoreError
from harness.store import run_folder
from harness.store.run_folder import RECORD, Run, differing
from tests.support.origins import TARGET, origin
from tests.support.run_cells import cell


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "runs", "9-example", origin(started="2026-01-01"))


def test_a_run_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    again = Run.latest(tmp_path / "runs", "9-example")
    assert again.provenance == run.provenance
    assert (again.provenance.id, again.provenance.version) == (run.folder.name, 1)
    folder = cell(run, "timing", {}, doubts=["power cap in 8 of 8 samples"], idle_s=0.5)
    ((path, record),) = again.records()
    assert path == folder
    assert record.doubts == ("power cap in 8 of 8 samples",)
    files.write_json(folder / RECORD, record.as_json())
    assert [known for _, known in again.records()] == [record]
    assert again.finished(record.id or "")


def test_what_a_killed_harness_left_half_written_is_no_record(run: Run) -> None:
    folder = cell(run, "timing", {})
    left = folder.with_name(f".{folder.name}.x")
    folder.rename(left)
    assert list(run.records()) == []
    (run.folder / ".run.json.x").touch()
    (run.folder / "scratch" / "tmp" / folder.name).mkdir(parents=True)
    run.remove_leftovers()
    assert not left.exists()
    assert sorted(path.name for path in run.folder.iterdir()) == ["cells", "run.json", "scratch"]
    assert list((run.folder / "scratch" / "tmp").iterdir()) == []


def test_runs_that_begin_at_once_have_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        begun = [
            pool.submit(Run.create, tmp_path / "runs", "9-example", origin(started="2026-01-01"))
            for _ in range(3)
        ]
    runs = [future.result() for future in begun]
    assert len({run.folder for run in runs}) == 3
    assert all(run.provenance.id == run.folder.name for run in runs)


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ([], "20260101-120000"),
        (["20260101-115959", "notes"], "20260101-120000"),
        (["20260101-120000"], "20260101-120000-2"),
        ([f"20260101-120000-{number}" for number in (2, 9, 10)], "20260101-120000-11"),
        (["20270101-000000"], "20270101-000000-2"),  # the clock was set back
    ],
)
def test_a_run_is_named_after_all_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], name: str
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            return cls(2026, 1, 1, 12, tzinfo=tz)

    monkeypatch.setattr(run_folder, "datetime", Clock)
    for earlier in there:
        (tmp_path / "9-example" / earlier).mkdir(parents=True)
        (tmp_path / "9-example" / earlier / "run.json").touch()
    run = Run.create(tmp_path, "9-example", origin(started="2026-01-01"))
    assert run.provenance.id == run.folder.name == name
    assert Run.latest(tmp_path, "9-example").folder == run.folder


def test_an_earlier_harness_s_cell_was_not_watched(run: Run) -> None:
    cell(run, "timing", {})
    ((_, record),) = run.records()
    assert (record.doubts, record.idle_s, record.seen.sm_mhz, record.seen.others) == (None,) * 4


def spoiled(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = files.read_json(path)
    change(record)
    files.write_json(path, record)


def test_a_damaged_cell_is_named_with_its_key(run: Run) -> None:
    path = cell(run, "timing", {}) / RECORD
    spoiled(path, lambda record: record["seen"].update(samples="many"))
    with pytest.raises(EvidenceError) as error:
        list(run.records())
    assert str(error.value).startswith(f"{path}: seen.samples: ")
    path.write_text("[]")
    with pytest.raises(StoreError, match="expected a JSON object"):
        list(run.records())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(version=2), "run of version 2, this harness reads 1"),
        (lambda record: record.pop("target"), "run.json: target: Field required"),
        (lambda record: record["target"].update(slug=7), "run.json: target.slug: "),
    ],
)
def test_a_damaged_run_is_named_with_its_key(
    run: Run, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    spoiled(run.folder / "run.json", change)
    with pytest.raises(HarnessError) as error:
        assert Run.open(run.folder).provenance
    assert message in str(error.value)
    assert error.value.exit_code == 2


def test_what_keeps_two_origins_apart_is_told() -> None:
    first, second = origin(sources_sha256="01"), origin(sources_sha256="02")
    assert list(differing(first, second)) == []
    assert list(differing(first, second, scripts=True)) == [("scripts", "01", "02")]
    first = origin(state={"repro.py": "01", "gone.cuh": "02", "case small": "03"})
    second = origin(state={"repro.py": "01", "case small": "04"})
    assert list(differing(first, second, scripts=True)) == [("gone.cuh", "02", None)]
    other = origin(target=TARGET | {"name": "NVIDIA H100"})
    assert list(differing(first, other)) == [
        ("target", "NVIDIA H200, driver 580.1", "NVIDIA H100, driver None")
    ]


def test_a_record_that_changed_is_refused_with_what_to_do(run: Run) -> None:
    path = cell(run, "timing", {}) / RECORD
    path.write_text(path.read_text().replace('"wall_s": 1.0', '"wall_s": 2.0'))
    with pytest.raises(StoreError) as error:
        list(run.records())
    assert str(error.value) == (
        f"{path}: changed since it was written: its sha256 is another"
        " (delete the cell's folder and run the cell again: harness run --resume)"
    )


def test_records_of_an_earlier_harness_are_read_and_named(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cell(run, "timing", {}) / RECORD
    note_unsealed(run)
    assert capsys.readouterr().err == ""
    before = list(run.records())
    path.write_text(json.dumps(files.read_json(path), indent=2) + "\n")
    assert list(run.records()) == before
    assert run.unsealed == (f"cells/{path.parent.name}/{RECORD}",)
    note_unsealed(run)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"note: an earlier harness wrote no sha256 to the record cells/{path.parent.name}/{RECORD}:"
        " damage there goes unnoticed\n"
    )
