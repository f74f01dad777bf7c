"""What commands print for programs is what ``harness schema`` says that they print."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.cli.outputs import OUTPUTS
from harness.problem.model import Problem
from tests.support.manifests import GOOD, written
from tests.support.paths import DATA
from tests.support.reports import KEPT, copied
from tests.support.toy_engine import settle

NSYS, TORCH = DATA / "nsys" / "streams.sqlite.zst", DATA / "torch" / "streams.json.gz"


def harness(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def schema(*arguments: str) -> Any:
    done = harness("schema", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with problem 9, which the toy engine runs."""
    settle(tmp_path, monkeypatch)
    written(
        tmp_path / "problems",
        GOOD.replace("timing: {}", "timing: {}\n  nsys: {cells: {small: [fast]}}"),
    )
    return tmp_path


def test_every_command_that_prints_json_has_a_schema() -> None:
    group: Any = typer.main.get_command(app)
    printing = {
        name
        for name, command in group.commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert OUTPUTS.keys() == printing


def test_all_schemas_are_schemas_and_say_how_commands_exit() -> None:
    known = schema("--all")
    assert known["problem.yaml"] == schema() == json.loads(json.dumps(Problem.model_json_schema()))
    assert known["commands"].keys() == OUTPUTS.keys()
    for name, each in known["commands"].items():
        jsonschema.Draft202012Validator.check_schema(each)
        assert each == schema(name)
        assert {"0", "2", "130"} <= each["x-exit-codes"].keys()


def test_an_unknown_command_gets_the_nearest() -> None:
    assert "did you mean check?" in str(harness("schema", "chek").exception)


RUN = ("run", "9", "--engine", "toy", "--lock-clocks", "1500", "--capture", "timing", "--json")
CALLS: list[tuple[object, ...]] = [
    ("list", "--json"),
    ("new", "other", "--json"),
    ("lint", "--json"),
    ("run", "9", "--dry-run", "--json"),
    RUN,
    ("report", "9", "--tables-only", "--json"),
    ("check", "9", "--json"),
    ("check", "9", "--claim", "faster", "--json"),
    ("check", "9", "--deep", "--json"),
    ("report", "9", "--json"),
    ("inspect", NSYS, "--json"),
    ("inspect", DATA / "memory" / "graph.pickle.zst", "--json"),
    ("inspect", DATA / "torch", "--json"),
    ("inspect", DATA / "ncu" / "small.ncu-rep.zst", "--json"),
    ("inspect", KEPT, "--json"),
    ("diff", NSYS, NSYS, "--json"),
    ("diff", NSYS, NSYS, "--json", "--fail-above", "5%"),
    ("diff", DATA / "torch", DATA / "torch", "--json"),
    ("diff", KEPT, KEPT, "--json"),
    ("diagnose", NSYS, TORCH, "--json"),
    ("diagnose", NSYS, "--json"),
    (*("diagnose", "--json", "--test", "all", "--repeats", "3"), "--", "true"),
    ("contribute", NSYS, "--as", "9/small/fast", "--json"),
    ("doctor", "--json"),
    ("doctor", "--clean", "--json"),
    ("audit", NSYS, "--json"),
    ("contribute", "--check", KEPT, "--json"),
    ("contribute", "--push", "elsewhere", "--json"),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(map(str, call[:2])))
def test_what_is_printed_is_what_the_schema_says(house: Path, call: tuple[object, ...]) -> None:
    if call[0] in ("check", "report"):
        assert harness(*RUN).exit_code == 0
    copied(KEPT, house / "kept")
    done = harness(*call)
    known = schema(str(call[0]))
    assert str(done.exit_code) in known["x-exit-codes"], done.exception
    jsonschema.validate(json.loads(done.stdout), known)


def test_another_key_is_no_part_of_the_schema(house: Path) -> None:
    listed = json.loads(harness("list", "--json").stdout)
    assert listed and house.is_dir()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([listed[0] | {"colour": "red"}], schema("list"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{**listed[0], "number": "9"}], schema("list"))
