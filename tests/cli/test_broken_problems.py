"""One broken manifest or report: it is named in one line, and keeps nothing else from working."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.ground import checkout, files
from harness.ground.errors import UsageError
from harness.problem import manifest
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.run_cells import cell

WRONG = GOOD.replace("baseline: slow", "baseline: none")
UNREADABLE = GOOD.replace("variants:", "variant:")


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with problem 9 and its report, and a draft whose manifest is wrong."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    problems = tmp_path / "problems"
    problems.mkdir()
    good = written(problems, GOOD)
    (good / "worklog.md.j2").write_text("{{ problem.title }}\n", encoding="utf-8")
    draft = problems / "3-draft"
    shutil.copytree(good, draft)
    (draft / "problem.yaml").write_text(WRONG, encoding="utf-8")
    run = Run.create(tmp_path / "runs" / "one", "9-example", origin(started="2026-01-01"))
    cell(run, "timing", {}, variant="fast")
    assert harness("report", "9", "--run", str(run.folder)).exit_code == 0
    return tmp_path


def of_problem(report: Path, name: str) -> None:
    """Have a report of problem 9 say that it is of another problem."""
    path = report / "evidence" / "provenance.json"
    said = json.dumps(files.read_json(path)).replace("9-example", name)
    files.write_json(path, json.loads(said))


def test_a_broken_draft_is_named_and_the_others_are_listed(house: Path) -> None:
    (house / "problems" / "3-draft" / "problem.yaml").write_text(UNREADABLE, encoding="utf-8")
    done = harness("list", "--json")
    assert done.exit_code == 0
    assert [problem["name"] for problem in json.loads(done.stdout)] == ["9-example"]
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"not listed: {house}/problems/3-draft/problem.yaml: line ")
    assert "did you mean 'variants'?" in line
    assert "A title" in harness("list").stdout


@pytest.mark.usefixtures("house")
def test_a_draft_that_cannot_be_run_yet_is_listed() -> None:
    done = harness("list", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [problem["number"] for problem in json.loads(done.stdout)] == [3, 9]


def test_a_broken_draft_keeps_no_report_from_being_written(house: Path) -> None:
    (run,) = house.rglob("run.json")
    done = harness("report", "9", "--run", str(run.parent))
    assert (done.exit_code, done.stderr, done.exception) == (0, "", None)


@pytest.mark.parametrize("broken", ["no problem", "its manifest", "its evidence"])
def test_one_report_that_cannot_be_rendered_is_named(house: Path, broken: str) -> None:
    whole = house / "reports" / "9-example" / "nvidia-h200"
    other = house / "reports" / "9-example" / "other-gpu"
    shutil.copytree(whole, other)
    if broken == "no problem":
        of_problem(other, "8-gone")
        message = (
            "a report of '8-gone', and there is no such problem (there are: 3-draft, 9-example)"
        )
    elif broken == "its manifest":
        of_problem(other, "3-draft")
        message = "line 5: baseline: no variant 'none'"
    else:
        (other / "evidence" / "provenance.json").write_text("{")
        message = "provenance.json"
    before = (whole / "README.md").read_bytes()
    (whole / "README.md").unlink()
    done = harness("report")
    assert done.exit_code == 2
    assert done.stdout == f"worklog: {whole}/README.md\n"
    assert (whole / "README.md").read_bytes() == before
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("not rendered: ")]
    assert line.startswith(f"not rendered: {other}: ")
    assert message in line
    assert "9-example/nvidia-h200/README.md" in (house / "reports" / "README.md").read_text()


def test_a_report_of_an_unknown_problem_is_refused_with_its_folder(house: Path) -> None:
    folder = house / "reports" / "9-example" / "nvidia-h200"
    of_problem(folder, "../../elsewhere")
    for command in ("check", "report"):
        done = harness(command, "--report", str(folder))
        assert isinstance(done.exception, UsageError)
        assert str(done.exception).startswith(f"{folder}: a report of '../../elsewhere', and there")


@pytest.mark.parametrize("report", ["nowhere", "."])
def test_a_folder_that_is_no_report_is_refused(house: Path, report: str) -> None:
    for command in ("check", "report"):
        done = harness(command, "--report", str(house / report))
        assert isinstance(done.exception, UsageError)
        assert str(house / report) in str(done.exception)


def test_two_folders_of_one_number_are_both_named(house: Path) -> None:
    shutil.copytree(house / "problems" / "9-example", house / "problems" / "9-another")
    with pytest.raises(UsageError, match="problem '9' is both 9-another and 9-example"):
        manifest.find(house / "problems", "9")
    assert manifest.find(house / "problems", "9-another").folder.name == "9-another"
    listed = json.loads(harness("list", "--json").stdout)
    names = [problem["name"] for problem in listed if problem["number"] == 9]
    assert names == ["9-another", "9-example"]
