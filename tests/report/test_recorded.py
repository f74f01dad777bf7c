"""Each file of a run and of a report is held to what was recorded of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.ground import files
from harness.ground.errors import UsageError
from harness.problem.model import Problem
from harness.report import recorded
from tests.support import damage, own_files
from tests.support.own_files import OwnFiles

TIMED = "cells/small.slow.timing.r0"
SHA256 = "changed since it was recorded: its sha256 is another"
UNLISTED = "nothing vouches for it: no record lists it"


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> OwnFiles:
    return own_files.made(tmp_path_factory.mktemp("own"), drawn=True)


@pytest.fixture
def run(standing: OwnFiles, tmp_path: Path) -> Path:
    return Path(shutil.copytree(standing.run.folder, tmp_path / "run"))


@pytest.fixture
def report(standing: OwnFiles, tmp_path: Path) -> Path:
    return Path(shutil.copytree(standing.report, tmp_path / standing.report.name))


def of_run(folder: Path) -> list[tuple[str, str]]:
    return [(fault.file, fault.what) for fault in recorded.of_run(folder).faults]


def nobody() -> Problem:
    raise UsageError("no such problem")


def of_report(
    folder: Path, own: OwnFiles, problem: Callable[[], Problem] | None = None
) -> list[tuple[str, str]]:
    checked = recorded.of_report(folder, own.store, problem or (lambda: own.problem))
    return [(fault.file, fault.what) for fault in checked.faults]


def flip(path: Path) -> None:
    path.write_bytes(damage.flipped(path.read_bytes(), 13))


def every(folder: Path) -> dict[str, int]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def test_every_file_of_a_run_is_checked(run: Path) -> None:
    checked = recorded.of_run(run)
    assert checked.faults == []
    assert checked.sizes == every(run)


def test_every_file_of_a_report_is_checked(report: Path, standing: OwnFiles) -> None:
    checked = recorded.of_report(report, standing.store, lambda: standing.problem)
    assert checked.faults == []
    (stored,) = standing.stored
    assert checked.sizes == every(report) | {str(stored): stored.stat().st_size}
    assert checked.rendered
    assert checked.elsewhere == 0
    assert {"figures", "pages", "captures"} <= {name.split("/")[0] for name in every(report)}


def test_nothing_is_written(run: Path, report: Path, standing: OwnFiles) -> None:
    folders = (run, report, standing.problem.folder)
    before = [[(path, path.stat().st_mtime_ns) for path in each.rglob("*")] for each in folders]
    recorded.of_run(run)
    recorded.of_report(report, standing.store, lambda: standing.problem)
    after = [[(path, path.stat().st_mtime_ns) for path in each.rglob("*")] for each in folders]
    assert after == before


@pytest.mark.parametrize("name", ["log.txt", "result.bin"])
def test_what_a_cell_left_is_held_to_its_record(run: Path, name: str) -> None:
    path, whole = run / TIMED / name, (run / TIMED / name).read_bytes()
    flip(path)
    assert of_run(run) == [(f"{TIMED}/{name}", SHA256)]
    path.write_bytes(whole + b"more")
    size = f"{len(whole) + 4} bytes instead of {len(whole)}"
    assert of_run(run) == [(f"{TIMED}/{name}", f"changed since it was recorded: {size}")]
    path.unlink()
    assert of_run(run) == [(f"{TIMED}/{name}", "is missing")]
    path.symlink_to(path.with_name("cell.json"))
    assert of_run(run) == [(f"{TIMED}/{name}", "a link, not a regular file")]


def test_a_record_of_a_cell_that_changed_is_the_one_fault_of_it(run: Path) -> None:
    flip(run / TIMED / "cell.json")
    ((file, what),) = of_run(run)
    assert file == f"{TIMED}/cell.json"
    assert "not readable as JSON" in what or "its sha256 is another" in what


def test_what_no_record_lists_is_named(run: Path) -> None:
    for name in ("notes.txt", f"{TIMED}/more.bin", "cells/.hidden/x", f"{TIMED}/in/x"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text("x")
    (run / "linked").symlink_to(run / "cells")
    names = [f"{TIMED}/in/x", f"{TIMED}/more.bin", "cells/.hidden/x", "linked", "notes.txt"]
    assert sorted(of_run(run)) == sorted((name, UNLISTED) for name in names)


def test_what_a_run_works_with_is_left_alone(run: Path) -> None:
    with_log = run / "jobs" / "0"
    for name in ("scratch/locks/gpu", "jobs/0/0.progress", "jobs/0/1_0_log.out", "lock"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("x")
    files.write_json(with_log / "parts.json", {"cells": []})
    assert of_run(run) == []
    flip(with_log / "parts.json")
    assert [file for file, _ in of_run(run)] == ["jobs/0/parts.json"]


def test_a_record_without_a_hash_is_read_and_named(run: Path) -> None:
    path = run / "run.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:-3], lines[-3].removesuffix(","), "}\n"]), encoding="utf-8")
    ((file, what),) = of_run(run)
    assert file == "run.json"
    assert what.startswith("nothing vouches for it: its own sha256 is missing")


@pytest.mark.parametrize("name", ["../../../outside", "/etc/hostname", ".."])
def test_a_record_leads_to_no_file_outside(run: Path, name: str) -> None:
    record = run / TIMED / "cell.json"
    known = files.read_json(record)
    known["artifacts"][name] = {"sha256": "0" * 64, "bytes": 1}
    files.write_json(record, known)
    assert of_run(run) == [(f"{TIMED}/{name}", "no name of a file that the harness wrote")]


@pytest.mark.parametrize(
    "name", ["README.md", "pages/more.md", "figures", "evidence/samples.parquet", "captures"]
)
def test_a_flip_in_a_report_names_its_file(report: Path, standing: OwnFiles, name: str) -> None:
    path = report / name
    if path.is_dir():
        path = next(path.iterdir())
    file = path.relative_to(report).as_posix()
    flip(path)
    rendered = "is not what its evidence renders to (harness report --report FOLDER)"
    hashed = name.startswith(("evidence", "captures"))
    assert of_report(report, standing) == [(file, SHA256 if hashed else rendered)]
    path.unlink()
    assert of_report(report, standing) == [(file, "is missing")]


def test_pages_are_rendered_of_evidence_that_is_whole_alone(
    report: Path, standing: OwnFiles
) -> None:
    for name in ("evidence/provenance.json", "evidence/captures.json", "card.json"):
        whole = (report / name).read_bytes()
        flip(report / name)
        assert [file for file, _ in of_report(report, standing, nobody)] == [name]
        (report / name).write_bytes(whole)
    with pytest.raises(UsageError):
        of_report(report, standing, nobody)


def test_further_files_of_a_report_are_named(report: Path, standing: OwnFiles) -> None:
    names = ["captures/more.bin", "evidence/more.parquet", "notes.txt"]
    for name in names:
        (report / name).write_text("x")
    assert sorted(of_report(report, standing)) == [(name, UNLISTED) for name in names]
    for name in names:
        (report / name).unlink()
    (report / "figures" / "more.svg").write_text("<svg/>")
    assert [file for file, _ in of_report(report, standing)] == ["figures/more.svg"]


def test_captures_without_a_list_are_vouched_for_by_nothing(
    report: Path, standing: OwnFiles
) -> None:
    (report / "evidence" / "captures.json").unlink()
    (first, what), (second, other) = of_report(report, standing)
    assert first == "evidence/captures.json"
    assert "is missing" in what
    assert second.startswith("captures/")
    assert other == UNLISTED


def test_a_capture_of_the_store_is_checked_where_it_lies(
    report: Path, standing: OwnFiles, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(standing.store, tmp_path / "store"))
    (stored,) = (path for path in store.rglob("*") if path.is_file())
    flip(stored)
    checked = recorded.of_report(report, store, nobody)
    assert [(fault.file, fault.what) for fault in checked.faults] == [(str(stored), SHA256)]
    checked = recorded.of_report(report, tmp_path / "none", lambda: standing.problem)
    assert checked.faults == []
    assert checked.elsewhere == 1
