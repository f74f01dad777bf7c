"""``harness report`` of a run: what it replaces, and what it says of captures outside git."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.ground import checkout
from harness.report import kept_captures
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.paths import DATA
from tests.support.run_cells import cell, timed


def report(run: Run, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["report", "9", "--run", str(run.folder), *arguments])
    assert done.exit_code == 0, done.exception
    return done.stdout


def test_a_smaller_run_replaces_a_report_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    problem = written(tmp_path / "problems", GOOD)
    (problem / "worklog.md.j2").write_text("{{ problem.title }}\n", encoding="utf-8")
    whole, part = (
        Run.create(tmp_path / "runs" / name, "9-example", origin(started="2026-01-01"))
        for name in ("whole", "part")
    )
    for variant in ("slow", "fast"):
        cell(whole, "timing", {}, variant=variant)
    cell(part, "timing", {}, variant="fast")
    folder = tmp_path / "reports" / "9-example" / "nvidia-h200"
    assert report(whole) == f"worklog: {folder}/README.md\n"
    assert report(part).splitlines() == [
        "partial, beside the report: 1 of the report's 2 cells (no small.slow.timing.r0)"
        " (--replace replaces it)",
        f"worklog: {folder}.partial/README.md",
    ]
    assert json.loads(report(part, "--json")) == {
        "worklogs": [f"{folder}.partial/README.md"],
        "partial": "1 of the report's 2 cells (no small.slow.timing.r0)",
        "outside_git": 0,
    }
    index = (tmp_path / "reports" / "README.md").read_text(encoding="utf-8")
    assert "(9-example/nvidia-h200/README.md)" in index
    assert "partial" not in index
    assert report(part, "--replace") == f"worklog: {folder}/README.md\n"
    assert report(part) == f"worklog: {folder}/README.md\n"


def test_captures_that_git_has_no_room_for_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setattr(kept_captures, "GIT_BYTES", 0)
    (tmp_path / "problems").mkdir()
    problem = written(tmp_path / "problems", GOOD)
    (problem / "worklog.md.j2").write_text("{{ problem.title }}\n", encoding="utf-8")
    run = Run.create(tmp_path / "runs", "9-example", origin(started="2026-01-01"))
    cell(run, "torch", {"trace.json.gz": DATA / "torch/streams.json.gz"})
    first, _ = report(run).splitlines()
    assert first == "captures outside git: 1 (harness contribute --push DEST shares them)"
    (kept,) = (tmp_path / ".captures").glob("*/*")
    assert kept.read_bytes() == (DATA / "torch/streams.json.gz").read_bytes()


def test_a_run_alone_names_its_problem_also_for_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", GOOD)
    run = timed(tmp_path / "runs", 2.0)
    done = CliRunner().invoke(app, ["report", "--tables-only", "--run", str(run.folder), "--json"])
    document = json.loads(done.stdout)
    assert document["evidence"] == str(run.folder / "evidence")
    assert document["rows"]["samples"] == 3 * 2 * 9
    assert not (tmp_path / "reports").exists()
    done = CliRunner().invoke(app, ["report", "--run", str(run.folder), "--json"])
    (worklog,) = json.loads(done.stdout)["worklogs"]
    assert Path(worklog).parent.parent == tmp_path / "reports" / "9-example"
