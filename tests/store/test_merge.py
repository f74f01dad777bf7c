"""Joining runs: whose cells count, what has to be the same, and that nothing half made is left."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.ground import files
from harness.ground.errors import CaptureError, StoreError, UsageError
from harness.store import merge, run_folder
from harness.store.continued import OfReport
from tests.support.bench import WELL, Bench
from tests.support.origins import TARGET, origin
from tests.support.reports import committed

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")
FAILS = "exit 1"
H100 = TARGET | {"name": "NVIDIA H100", "gpu": {"name": "NVIDIA H100", "driver": "550.1"}}


def run_of(folder: Path, slow: str, fast: str, **other: Any) -> run_folder.Run:
    """A run of both variants, with what is ``other`` in its provenance."""
    folder.mkdir()
    bench = Bench(folder, slow, fast)
    bench.execute()
    if other:
        path = bench.run.folder / "run.json"
        files.write_json(path, files.read_json(path) | other)
    return bench.run


def marked(name: str) -> str:
    return WELL + f"; echo {name} > $OUT/data.txt"


def held(run: run_folder.Run) -> dict[str, tuple[str, str]]:
    """Status and mark of each variant's cell."""
    cells = {}
    for folder, record in run.records():
        data = folder / "data.txt"
        mark = data.read_text().strip() if data.exists() else ""
        cells[record.variant] = (record.status, mark)
    return cells


def test_of_a_cell_the_first_run_counts_unless_it_failed_there(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a", marked("a"), FAILS)
    second = run_of(tmp_path / "b", marked("b"), marked("b"))
    run = merge.join([first, second], tmp_path / "runs")
    assert held(run) == {"slow": ("ok", "a"), "fast": ("ok", "b")}
    assert held(first) == {"slow": ("ok", "a"), "fast": ("failed", "")}
    back = merge.join([second, first], tmp_path / "other")
    assert held(back) == {"slow": ("ok", "b"), "fast": ("ok", "b")}


def test_every_origin_is_kept(tmp_path: Path) -> None:
    before = origin(started="earlier").as_json()
    first = run_of(tmp_path / "a", WELL, FAILS, resumed=[before])
    second = run_of(tmp_path / "b", FAILS, WELL, started="later")
    joined = merge.join([first, second], tmp_path / "runs").provenance
    assert [call.started for call in joined.resumed] == ["earlier", "later"]
    assert joined.started == first.provenance.started
    whole = files.read_json(tmp_path / "runs" / "9-example" / joined.id / "run.json")
    assert all("id" not in call and "resumed" not in call for call in whole["resumed"])
    assert run_folder.Run.open(tmp_path / "runs" / "9-example" / joined.id).provenance == joined


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"problem": "8-other"}, "its problem is 8-other, the first run's 9-example"),
        ({"state": {"repro.py": "0123"}}, "its repro.py is 0123"),
        ({"target": H100}, "H100, driver 550.1"),
    ],
)
def test_runs_of_other_things_are_refused(
    tmp_path: Path, other: dict[str, Any], message: str
) -> None:
    first = run_of(tmp_path / "a", WELL, WELL)
    second = run_of(tmp_path / "b", WELL, WELL, **other)
    with pytest.raises(UsageError, match=message):
        merge.join([first, second], tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_file_that_changed_leaves_no_run(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, marked(name), WELL) for name in ("a", "b")]
    (folder,) = (folder for folder, record in runs[0].records() if record.variant == "slow")
    (folder / "data.txt").write_text("changed")
    with pytest.raises(CaptureError, match="changed since"):
        merge.join(runs, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_copy_that_fails_leaves_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_of(tmp_path / name, WELL, WELL) for name in ("a", "b")]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(StoreError, match="No space left"):
        merge.join(runs, tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/*"))


def test_only_what_was_recorded_is_joined(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the host")
    runs = [run_of(tmp_path / name, WELL, WELL) for name in ("a", "b")]
    for folder, _ in runs[0].records():
        (folder / "more.txt").symlink_to(tmp_path / "secret")
    joined = merge.join(runs, tmp_path / "runs")
    left = {path.name for path in joined.folder.rglob("*.txt")}
    assert left == {"log.txt"}


def test_a_run_that_goes_on_from_a_report_is_not_joined(tmp_path: Path) -> None:
    run = OfReport(committed("12-split-a-model")).begun(tmp_path / "runs")
    with pytest.raises(UsageError, match="goes on from a report, which holds cells"):
        merge.join([run, run], tmp_path / "joined")
    assert not (tmp_path / "joined").exists()
