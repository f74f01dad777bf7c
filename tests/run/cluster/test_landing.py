"""Landing: whole or not at all, once, and without anything that a shared file system may lack."""

import ctypes
import errno
import fcntl
import shutil
import threading
from pathlib import Path

import pytest

from harness.evidence.cell_record import CellRecord
from harness.ground import files
from harness.ground.errors import CaptureError
from harness.run.cluster import job
from harness.run.cluster.job import land
from harness.run.cluster.submission import CellProgress, Submission, submissions
from harness.store import run_folder
from harness.store.run_folder import Run
from tests.support.origins import origin
from tests.support.paths import ROOT
from tests.support.run_cells import cell


@pytest.fixture
def own(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "own", "9-example", origin())


@pytest.fixture(params=["local", "NFS"])
def shared(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run; as on NFS, where locks and the exchange of two folders may be refused."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    if request.param == "NFS":
        monkeypatch.setattr(fcntl, "flock", refused)
        monkeypatch.setattr(fcntl, "lockf", refused)
        monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())  # without renameat2
    return Run.create(tmp_path / "shared", "9-example", origin())


def landed(run: Run) -> dict[str, str]:
    return {path.name: files.sha256(path / run_folder.RECORD) for path, _ in run.records()}


def test_a_cell_lands_whole(own: Run, shared: Run) -> None:
    source = cell(own, "torch", {"trace.json": ROOT / "README.md"})
    assert land(source, shared)
    (copy,) = (path for path, _ in shared.records())
    assert sorted(path.name for path in copy.iterdir()) == ["cell.json", "trace.json"]
    assert files.sha256(copy / "trace.json") == files.sha256(ROOT / "README.md")
    assert not list(copy.parent.glob(".*"))


def test_a_finished_cell_is_adopted_and_a_failed_one_replaced(own: Run, shared: Run) -> None:
    failed = cell(own, "timing", {}, status="failed", reason="no reason")
    assert land(failed, shared)
    well = cell(own, "timing", {})
    assert land(well, shared)
    first = landed(shared)
    assert land(cell(own, "timing", {}, wall_s=2.0), shared) is False
    assert landed(shared) == first


def test_of_two_that_land_at_once_one_lands(own: Run, shared: Run) -> None:
    source = cell(own, "torch", {"trace.json": ROOT / "README.md"})
    barrier = threading.Barrier(8)
    landings: list[bool] = []

    def one() -> None:
        barrier.wait()
        landings.append(land(source, shared))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (landings.count(True), len(landed(shared))) == (1, 1)


def test_a_finished_cell_replaces_a_failed_one_that_landed_meanwhile(
    own: Run, shared: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = cell(own, "timing", {}, status="failed", reason="no reason").rename(
        own.folder / "failed"
    )
    well = cell(own, "timing", {})
    copy = job._copy

    def after_another(source: Path, record: CellRecord, folder: Path) -> None:
        if not shared.cell(well.name).exists():
            shutil.copytree(failed, shared.cell(well.name))
        copy(source, record, folder)

    monkeypatch.setattr(job, "_copy", after_another)
    assert land(well, shared)
    assert shared.finished(well.name)


def test_what_changed_on_the_node_does_not_land(own: Run, shared: Run) -> None:
    source = cell(own, "torch", {"trace.json": ROOT / "README.md"})
    (source / "trace.json").write_text("damaged")
    with pytest.raises(CaptureError, match="changed since it was recorded"):
        land(source, shared)
    assert landed(shared) == {}


def test_submissions_number_themselves_and_keep_events(shared: Run) -> None:
    first, second = (Submission.create(shared, [["a"], ["b", "c"]]) for _ in range(2))
    assert [each.folder.name for each in submissions(shared)] == ["0", "1"]
    assert first.name != second.name
    assert second.parts == (("a",), ("b", "c"))
    for status in ("running", "failed: «no»\nreason"):
        second.say(1, CellProgress("b", status, 1.5))
    assert [event.status for event in second.events(1)] == ["running", "failed: «no»\nreason"]
    assert second.events(0) == first.events(1) == []
    with (second.folder / "1.progress").open("a") as file:
        file.write('["c", "runn')  # a line that is being written
    assert len(second.events(1)) == 2
