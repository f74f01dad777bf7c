"""``harness run`` as a user sees it: the plan, the end, the page, and how to go on."""

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from harness.cli import account
from harness.cli.app import app
from harness.engines import ENGINES
from harness.engines.downloads import Downloads, in_words
from harness.evidence import provenance
from harness.evidence import tables as evidence
from harness.ground import checkout
from harness.ground.errors import StoreError, UsageError
from harness.store import run_lock
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.toy_engine import Toy

CLAIMS = """\
claims:
  - id: even
    statement: Fast and slow take as long as each other.
    metric: time
    of: {variant: fast, case: small}
    over: {variant: slow}
    bound: {between: [0.5, 2]}
    headline: true
  - id: longer
    statement: A big one takes longer.
    metric: time
    of: {variant: fast, case: big}
    over: {case: small}
    bound: {above: 1}
"""
MANIFEST = f"{GOOD.partition('claims:')[0]}{CLAIMS}".replace(
    "  small: {label: Small}\n", "  small: {label: Small}\n  big: {label: Big}\n"
)


@pytest.fixture(autouse=True)
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem that has a short path, and the toy among the engines."""
    monkeypatch.setitem(ENGINES, "toy", lambda: Toy)
    monkeypatch.setattr(Toy, "nodes", [])
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems").mkdir()
    problem = written(tmp_path / "problems", MANIFEST)
    (problem / "worklog.md.j2").write_text("The worklog of {{ problem.title }}\n")
    return tmp_path


def harness(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    argv = ["run", "9", "--engine", "toy", "--lock-clocks", "1500", *arguments]
    monkeypatch.setattr("sys.argv", ["/somewhere/harness", *argv])
    return CliRunner().invoke(app, argv)


def runs(house: Path) -> list[Path]:
    return sorted(house.glob("runs/9-example/*"))


def test_the_short_path_ends_in_verdicts_and_what_to_do_next(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = harness(monkeypatch, "--worklog")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("the short path of 9-example: 6 of 20 cells; how long they take")
    (run,) = runs(house)
    report = "reports/9-example/toy-gpu"
    told = r"6 ok in \d+ s · 1 of 1 tested claims reproduced; 1 needs the full run → (.*)"
    (end,) = (at for at, line in enumerate(lines) if re.fullmatch(told, line))
    assert lines[end].endswith(f" → {report}/README.md")
    assert f"run: {run}" in lines[end:]
    assert any(
        line.endswith("1500 --worklog --full  # every cell and every claim") for line in lines[end:]
    )
    page = (house / report / "README.md").read_text(encoding="utf-8")
    assert "The worklog of" not in page
    assert re.search(r"## What needs the full run.*- `longer`: A big one", page, re.DOTALL)


def test_a_full_run_renders_the_worklog_and_a_short_one_leaves_it(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = harness(monkeypatch, "--worklog", "--full")
    assert full.exit_code == 0, full.output
    page = house / "reports" / "9-example" / "toy-gpu" / "README.md"
    assert page.read_text(encoding="utf-8") == "The worklog of A title\n"
    runs(house)[0].rename(house / "runs" / "9-example" / "20200101-000000")
    short = harness(monkeypatch, "--worklog")
    assert "the claims outside of the short path" in short.stdout
    assert f"→ {page.parent.relative_to(house)}.partial/README.md" in short.stdout
    assert page.read_text(encoding="utf-8") == "The worklog of A title\n"


def test_without_a_worklog_it_says_how_to_get_one(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = harness(monkeypatch)
    (run,) = runs(house)
    folder = run.relative_to(house)
    assert re.search(rf"^6 ok in \d+ s → {folder}$", done.stdout, re.MULTILINE)
    assert f"/somewhere/harness report 9 --run {folder}  #" in done.stdout
    assert not (house / "reports").exists()


def test_an_interrupted_run_goes_on_with_the_line_that_it_prints(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, asked = Toy.command, 0

    def interrupted(self: Toy, *arguments: object) -> object:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise KeyboardInterrupt
        return command(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Toy, "command", interrupted)
    done = harness(monkeypatch, "--rounds", "1", "--full", "--jobs", "1")
    assert done.exit_code == 130
    (run,) = runs(house)
    told, line = done.stderr.splitlines()
    assert told == f"2 of 4 cells are in {run.relative_to(house)}"
    assert line.startswith("go on with: /somewhere/harness run 9 ")
    argv = line.partition("harness ")[2].split()
    assert argv[-2:] == ["--resume", str(run.relative_to(house))]

    checked = CliRunner().invoke(app, ["check", "9"])
    assert checked.exit_code == 3
    assert "unfinished: 2 of 4 cells were run" in checked.stderr
    reported = CliRunner().invoke(app, ["report", "9"])
    assert reported.stdout.startswith("unfinished: 2 of 4 cells were run\n")

    resumed = CliRunner().invoke(app, argv)
    assert resumed.exit_code == 0, resumed.output
    written_again = CliRunner().invoke(app, ["report", "9"])
    assert "unfinished" not in written_again.stdout
    assert "9-example: 4 of 20 cells, 2 of them left" in resumed.stdout
    assert "[3/4] " in resumed.stdout
    assert "[1/4] " not in resumed.stdout
    checked = CliRunner().invoke(app, ["check", "9"])
    assert (checked.exit_code, "described" in checked.output) == (3, True)  # of one round
    assert len(list(Run.open(run).records())) == 4


def test_a_report_goes_on_with_the_rounds_that_it_lacks(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness(monkeypatch, "--full", "--rounds", "1", "--worklog").exit_code == 0
    report = house / "reports/9-example/toy-gpu"
    before = evidence.load(report / "evidence")
    (run,) = runs(house)
    shutil.rmtree(house / "runs")
    more = ("--full", "--rounds", "3", "--resume", str(report))
    planned = harness(monkeypatch, *more, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert not runs(house)
    done = harness(monkeypatch, *more, "--worklog")
    assert done.exit_code == 0, done.output
    assert "12 of 20 cells, 8 of them left" in done.stdout
    assert runs(house) == [run]
    assert not report.with_name("toy-gpu.partial").exists()
    after = evidence.load(report / "evidence")
    first = after["samples"].filter(pl.col("cell").str.ends_with("r0"))
    assert first.equals(before["samples"])
    cells = after["cells"]
    assert cells.filter(cells["round"] == 0).equals(before["cells"])
    assert cells.select("case", "variant", "round").rows() == [
        (case, variant, number)
        for case in ("big", "small")
        for variant in ("fast", "slow")
        for number in range(3)
    ]
    recorded = provenance.load(report / "evidence")
    assert [cell.cell for cell in recorded.cells] == [*cells["cell"]]
    assert [call.arguments.rounds for call in recorded.run.origins] == [1, 3]
    again = harness(monkeypatch, *more)
    assert str(again.exception).startswith(f"{run}: the run of this report is there")
    left = harness(monkeypatch, "--full", "--rounds", "3", "--resume", str(run))
    assert "12 of 20 cells, none of them left" in left.stdout


def test_a_report_of_other_scripts_does_not_go_on(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness(monkeypatch, "--full", "--rounds", "1", "--worklog").exit_code == 0
    shutil.rmtree(house / "runs")
    script = house / "problems/9-example/repro.py"
    script.write_text(f"{script.read_text()}\nimport os\n")
    report = house / "reports/9-example/toy-gpu"
    refused = harness(monkeypatch, "--rounds", "2", "--resume", str(report))
    assert isinstance(refused.exception, UsageError)
    what = f"{report}: the report is stale: since its run repro.py changed (make a new run)"
    assert str(refused.exception) == what
    shutil.copytree(house / "problems/9-example", house / "problems/8-other")
    other = CliRunner().invoke(app, ["run", "8", "--engine", "toy", "--resume", str(report)])
    assert "the run's problem is 9-example, here it is 8-other" in str(other.exception)
    assert not runs(house)


def test_a_run_that_another_harness_executes_does_not_go_on_beside_it(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness(monkeypatch, "--rounds", "1").exit_code == 0
    (run,) = runs(house)
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    monkeypatch.setattr(Toy, "prepare", lambda *_: pytest.fail("installs first"))
    with run_lock.held(run):
        beside = harness(monkeypatch, "--full", "--resume", str(run))
    assert isinstance(beside.exception, StoreError)
    assert beside.exception.exit_code == 2
    assert str(beside.exception).startswith(f"{run}: another harness")
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    assert not Toy.nodes[-1].calls[1:]  # the GPU was not held


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["/x/harness", "run", "1"], "/x/harness run 1 --resume R"),
        (
            ["/x/harness", "run", "1", "--resume", "old", "--mount", "a b"],
            "/x/harness run 1 --mount 'a b' --resume R",
        ),
        (["/x/harness", "run", "--resume=old", "1"], "/x/harness run 1 --resume R"),
    ],
)
def test_the_line_that_goes_on_keeps_every_other_option(argv: list[str], line: str) -> None:
    assert account.resuming(argv, Path("R")) == line


def test_a_dry_run_tells_cells_and_how_long_they_took(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = harness(monkeypatch, "--full", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "20 cells; how long they take here is not known yet" in done.stdout
    assert runs(house) == []
    assert harness(monkeypatch, "--full", "--variant", "fast", "--rounds", "1").exit_code == 0
    planned = json.loads(harness(monkeypatch, "--full", "--dry-run", "--json").stdout)
    assert len(planned) == 20
    for cell in planned:
        assert (cell["expected_s"] is not None) == (cell["variant"] == "fast"), cell
    shown = harness(monkeypatch, "--full", "--dry-run").stdout
    (fast,) = (line.split() for line in shown.splitlines() if line.split()[:2] == ["small", "fast"])
    assert fast[2:4] == ["timing", "5"]


def test_a_run_says_first_what_it_downloads_and_how_long_it_took_on_another_machine(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness(monkeypatch, "--worklog").exit_code == 0
    evidence = house / "reports" / "9-example" / "toy-gpu" / "evidence"
    known = provenance.load(evidence)
    target = known.run.target.model_copy(update={"name": "other GPU"})
    run = known.run.model_copy(update={"target": target})
    cells = tuple(cell.model_copy(update={"wall_s": 30.0}) for cell in known.cells)
    changed = known.model_copy(update={"run": run, "cells": cells})
    provenance.write(evidence, changed)
    shutil.rmtree(house / "runs")
    wanted = Downloads(packages=("a-package",), into="/somewhere")
    monkeypatch.setattr(Toy, "downloads", lambda *_: wanted)
    done = harness(monkeypatch)
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith(
        "the short path of 9-example: 6 of 20 cells; not all timed here yet: about"
    )
    assert first.endswith("as on the other GPU of the report")
    assert second == in_words(wanted)
    assert "/somewhere" not in harness(monkeypatch, "--json").stdout
