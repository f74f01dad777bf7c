"""``harness check --deep`` of a run and a report: its lines, its document, its exit codes."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.cli.outputs import schema_of
from harness.engines import ENGINES
from harness.ground import checkout
from harness.ground.errors import UsageError
from tests.support import damage, own_files
from tests.support.manifests import GOOD, written
from tests.support.own_files import OwnFiles
from tests.support.toy_engine import Toy

LOG = "cells/small.slow.timing.r0/log.txt"


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> OwnFiles:
    return own_files.made(tmp_path_factory.mktemp("own"))


@pytest.fixture
def house(tmp_path: Path, standing: OwnFiles, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with problem 9, a run of it and its report."""
    shutil.copytree(standing.problem.folder, tmp_path / "problems" / "9-example")
    shutil.copytree(standing.run.folder.parents[1], tmp_path / "runs")
    shutil.copytree(standing.report.parents[1], tmp_path / "reports")
    shutil.copytree(standing.store, tmp_path / ".captures")
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def deep(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["check", "--deep", *map(str, arguments)])


def run_of(house: Path) -> Path:
    (run,) = (house / "runs" / "9-example").iterdir()
    return run


def report_of(house: Path) -> Path:
    (report,) = (house / "reports" / "9-example").iterdir()
    return report


def flip(path: Path) -> None:
    path.write_bytes(damage.flipped(path.read_bytes(), 13))


def test_a_run_and_a_report_that_are_whole(house: Path) -> None:
    sizes = [path.stat().st_size for path in run_of(house).rglob("*") if path.is_file()]
    for arguments in (("9",), ("--run", run_of(house))):
        done = deep(*arguments)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout == f"{len(sizes)} files, {sum(sizes)} bytes checked: all as recorded\n"
    for folder in (run_of(house), house / ".captures"):
        shutil.rmtree(folder)
    for arguments in (("9",), ("--report", report_of(house))):
        done = deep(*arguments)
        assert (done.exit_code, done.stderr) == (0, "")
        first, second = done.stdout.splitlines()
        assert first.endswith(" bytes checked: all as recorded")
        assert second == "not checked: captures that are not on this machine: 1"


def test_a_flip_in_a_log_is_told(house: Path) -> None:
    run = run_of(house)
    flip(run / LOG)
    for arguments in (("9",), ("--run", run)):
        done = deep(*arguments)
        first, last = done.stdout.splitlines()
        assert done.exit_code == 1
        assert first == f"{run / LOG}: changed since it was recorded: its sha256 is another"
        assert last.endswith(" bytes checked: 1 not as recorded")


def test_damaged_records_are_faults_as_well(house: Path) -> None:
    run, report = run_of(house), report_of(house)
    for folder, record in ((run, "run.json"), (report, "evidence/provenance.json")):
        flip(folder / record)
        done = deep("--run" if folder == run else "--report", folder)
        assert done.exit_code == 1
        assert f"{folder / record}: " in done.stdout
        assert ("not checked: pages and figures" in done.stdout) == (folder == report)


def test_the_document_is_the_one_of_the_schema(house: Path) -> None:
    run, report = run_of(house), report_of(house)
    flip(run / LOG)
    for option, folder in (("--run", run), ("--report", report)):
        done = deep(option, folder, "--json")
        document = json.loads(done.stdout)
        jsonschema.validate(document, schema_of("check"))
        assert document["folder"] == str(folder)
        assert [each["file"] for each in document["faults"]] == ([LOG] if folder == run else [])
        assert done.exit_code == (1 if folder == run else 0)
        assert document["bytes"] > document["files"] > 10


@pytest.mark.parametrize("option", ["--strict", "--github", "--junit=x.xml", "--against=x"])
@pytest.mark.usefixtures("house")
def test_it_judges_no_claims(option: str) -> None:
    assert isinstance(deep("9", option).exception, UsageError)


def test_folders_that_are_neither_are_refused(house: Path) -> None:
    for arguments in (
        ("--run", house),
        ("--report", house),
        ("--report", house / "none"),
        (),
        ("--run", run_of(house), "--report", report_of(house)),
    ):
        done = deep(*arguments)
        assert isinstance(done.exception, UsageError), arguments
        assert done.stdout == ""


def test_a_run_that_was_executed_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its lock, what it works with, and the log that every process leaves."""
    monkeypatch.setitem(ENGINES, "toy", lambda: Toy)
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "problems", GOOD)
    ran = CliRunner().invoke(app, ["run", "9", "--engine", "toy", "--rounds", "1"])
    assert ran.exit_code == 0, ran.output
    assert (run_of(tmp_path) / "lock").exists()
    logs = list(run_of(tmp_path).glob("cells/*/log.txt"))
    assert logs
    assert deep("9").exit_code == 0, deep("9").output
    logs[0].write_text("another log")
    assert deep("9").exit_code == 1
