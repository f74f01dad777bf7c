"""Every command's help on 80 columns, and messages on what cannot be used."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli import renamed
from harness.cli.app import app
from harness.cli.examples import EXAMPLES
from harness.ground.errors import HarnessError
from tests.support.paths import ROOT


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, terminal_width=80)


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_names_values_by_words_and_fits_80_columns(name: str) -> None:
    shown = harness(*name.split(), "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"<[a-z]|\[str|\[Path|\{", shown)
    group: Any = typer.main.get_command(app)
    command = group.commands[name]
    usage = shown.partition("\n\n")[0]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    for argument in arguments:
        assert str(argument.name).upper() in usage or argument.metavar in usage


def test_the_list_of_commands_says_each_in_one_line() -> None:
    listed = harness("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert len(listed) == len({name.split()[0] for name in EXAMPLES})
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("inspect", "READM.md"), "READM.md: no such file (did you mean README.md"),
        (("diagnose", "nowhere/x"), "nowhere/x: no such file (nor is there a folder nowhere)"),
        (("view", "zzzzzz"), "name a capture file, a folder of them, a run or a report"),
        (("doctor", "--engine", "podmen"), "no engine 'podmen' (did you mean podman?)"),
        (("run", "1", "--variant", "bf16-eagr"), "did you mean bf16-eager"),
    ],
)
def test_a_message_says_what_to_do(
    arguments: tuple[str, ...], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    error = harness(*arguments).exception
    assert isinstance(error, HarnessError)
    assert remedy in str(error)


@pytest.mark.parametrize("old", renamed.NOW)
def test_an_old_name_is_told_the_new_one(old: str) -> None:
    words = ["run", "1", *old.split()[1:]] if old.startswith("run ") else [old, "a", "--some"]
    argv = [sys.executable, "-m", "harness", *words]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"harness: harness {old}: is no more (now: {renamed.NOW[old]})\n"


@pytest.mark.parametrize("old", renamed.NOW)
def test_a_new_name_is_a_command_with_its_options(old: str) -> None:
    group: Any = typer.main.get_command(app)
    assert old not in group.commands
    for line in re.findall(r"harness ([a-z][^,:]*)", renamed.NOW[old]):
        command, *words = line.split()
        known = {name for each in group.commands[command].params for name in each.opts}
        assert {word for word in words if word.startswith("-")} <= known
    assert all((ROOT / page).is_file() for page in re.findall(r"docs/\S+", renamed.NOW[old]))


def test_the_schema_of_an_old_name_is_told_as_well() -> None:
    assert "harness report --join RUN RUN" in str(harness("schema", "join").exception)


def test_a_port_beyond_the_last_is_refused_before_the_site_is_built() -> None:
    done = harness("browse", "--port", "99999")
    assert done.exit_code == 2
    assert "65535" in done.output


def test_a_site_takes_no_other_folders_or_files_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.report.publish.page_of", lambda *_: pytest.fail("read"))
    (tmp_path / "trace.json").write_text("{}")
    for taken in (tmp_path, tmp_path / "trace.json"):
        error = harness("browse", "-o", str(taken)).exception
        assert isinstance(error, HarnessError)
        assert f"{taken}: not written: it is there already, and is not a site of" in str(error)


def test_a_folder_that_cannot_be_written_is_refused_before_reports_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.report.publish.page_of", lambda *_: pytest.fail("read"))
    error = harness("browse", "-o", str(ROOT / "README.md" / "site")).exception
    assert isinstance(error, HarnessError)
    assert "README.md/site: not written" in str(error)
