"""The command line as a user meets it: one line, the right exit code, nothing half written."""

import json
from pathlib import Path

import pytest

from harness.cli.app import app
from tests.support import reports
from tests.support.warm import harness


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "77"), "no problem '77'"),
        (("run", "1", "--variant", "fast"), "no variant 'fast'"),
        (("run", "1", "--case", "huge"), "no case 'huge'"),
        (("run", "1", "--engine", "cloud"), "no engine 'cloud'"),
        (("run", "1", "--rounds", "0"), "at least 1"),
        (("run", "1", "--jobs", "0"), "--jobs has to be at least 1"),
        (("run", "1", "--python", "nowhere/python"), "nowhere/python: --python is no program"),
        (("run", "1", "--resume", "/nowhere"), "/nowhere: neither a run's folder"),
        (("check", "1", "--run", "/nowhere"), "not a run folder"),
        (("report", "--join", "/nowhere", "/nowhere/else"), "/nowhere: not a run folder"),
        (("report", "--join", "/nowhere"), "one run alone"),
        (("report", "--join", "a", "b", "--replace"), "--join takes run folders alone"),
        (("report", "1", "--tables-only", "--replace"), "--tables-only is of a run"),
        (("report", "--tables-only"), "no problem named"),
        (("report", "1", "2"), "one problem at a time"),
        (("check", "1", "--claim", "a", "--strict"), "--claim shows one claim"),
        (("check", "1", "--claim", "a", "--deep"), "--deep judges no claims"),
        (("contribute", "1", "2"), "one problem at a time"),
        (("contribute", "1", "--check", "a.tar.gz"), "PROBLEM is not for --check"),
        (("contribute", "1", "--range", "step"), "--range is for --as"),
        (("contribute", "--as", "1/stack-m1/bf16-eager"), "no capture named"),
        (("contribute", "--push", "a", "--fetch", "b"), "--fetch is not for --push"),
        (("doctor", "--wheels", "."), "are for --calibrate"),
        (("doctor", "--clean", "--calibrate"), "--clean asks every engine"),
        (("inspect", "/nowhere/a.sqlite"), "/nowhere/a.sqlite"),
        (("inspect", "README.md"), "README.md"),
        (("inspect", "problems"), "problems"),
        (("run", "1", "--wheels", "/nowhere"), "'--wheels': dir '/nowhere' does not exist"),
        (("diff", "nowhere.sqlite", "nowhere.sqlite"), "nowhere.sqlite: no such file"),
        (("diff", "reports", "reports"), "no capture in it"),
        (("lint", "problems/workloads"), "problems/workloads: no problem.yaml in this folder"),
        (("lint", "workloads"), "problems/workloads: no problem.yaml in this folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], message: str) -> None:
    done = harness(*arguments)
    assert done.returncode == 2, done
    lines = done.stderr.strip().splitlines()
    assert message in lines[-1]
    assert "Traceback" not in done.stderr
    assert len(lines) == 1


def test_the_list_of_commands_is_whole() -> None:
    _, commands = harness("--help").stdout.split("Commands:\n")
    assert "..." not in commands


def test_list_and_schema_and_doctor_speak_json() -> None:
    listed = json.loads(harness("list", "--json").stdout)
    assert [problem["number"] for problem in listed] == sorted(
        problem["number"] for problem in listed
    )
    assert json.loads(harness("schema").stdout)["title"] == "Problem"
    report = json.loads(harness("doctor", "--json").stdout)
    assert {"Python", "GPU", "disk"} <= {check["name"] for check in report["checks"]}


def test_a_dry_run_prints_a_command_for_every_cell() -> None:
    chosen = ("--engine", "local", "--case", "stack-m1", "--capture", "timing")
    done = harness("run", "1", *chosen, "--commands")
    assert done.returncode == 0, done.stderr
    cells = [line for line in done.stdout.splitlines() if line.startswith("# stack-m1.")]
    assert len(cells) >= 13
    assert done.stdout.count("HARNESS_CELL=") == len(cells)


@pytest.mark.slow
def test_reports_are_named_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = reports.copied(reports.committed("3-cudagraph-memory"), tmp_path)
    monkeypatch.setattr("harness.ground.checkout.reports", lambda: tmp_path)
    app(["report", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["worklogs"] == [str(copy / "README.md")]
    assert (copy / "README.md").is_file()
    assert copy.name in (tmp_path / "README.md").read_text()
