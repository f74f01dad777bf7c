"""The first minute: what ``harness`` alone says, its version, examples, completion, near names."""

import gzip
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness import __version__
from harness.cli.app import app
from harness.cli.examples import EXAMPLES
from harness.cli.start import _NEXT
from harness.ground.errors import UsageError
from harness.problem.names import nearest
from tests.support.paths import DATA, ROOT


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def commands(group: Any = None, prefix: str = "") -> dict[str, Any]:
    """Return every command by what it is called by."""
    found: dict[str, Any] = {}
    root: Any = group or typer.main.get_command(app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        found |= commands(command, f"{name} ") if inner else {prefix + name: command}
    return found


def test_alone_it_says_what_to_type() -> None:
    done = harness()
    assert done.exit_code == 0
    shown = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  harness ")]
    assert {*shown} - {"--help"} <= commands().keys()
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_where_captures_lie_it_offers_what_reads_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "in this folder" not in harness().stdout
    trace = gzip.compress(b'{"schemaVersion": 1, "traceEvents": []}')
    for age, (name, content) in enumerate(
        [("-new one.json.gz", trace), ("notes.txt", b"text"), ("old.json.gz", trace), (".c", trace)]
    ):
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "evil\x1b[2J.json.gz").write_bytes(trace)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    told = [line for line in harness().stdout.splitlines() if "json.gz" in line]
    assert [[word for word in shlex.split(line) if word.endswith(".gz")] for line in told] == [
        ["./-new one.json.gz"],
        ["./-new one.json.gz"],
        ["old.json.gz", "./-new one.json.gz"],
    ]


@pytest.mark.parametrize("absent", [[], ["altair"]])
def test_of_a_snapshot_it_offers_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "memory/graph.pickle.zst", tmp_path)
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    told = [line.split()[1] for line in harness().stdout.splitlines() if "graph.pickle" in line]
    assert told == (["diagnose"] if absent else ["diagnose", "view"])


def test_the_version_is_told() -> None:
    assert harness("--version").stdout == f"harness {__version__}\n"


def test_every_command_has_examples_and_its_help_ends_with_them() -> None:
    assert EXAMPLES.keys() == commands().keys()
    for name, lines in EXAMPLES.items():
        told = harness(*name.split(), "--help").stdout.rstrip("\n").splitlines()
        assert [line.strip() for line in told[-len(lines) :]] == list(lines)


@pytest.mark.parametrize(
    ("name", "line"),
    [(name, line) for name, lines in EXAMPLES.items() for line in lines]
    + [(command.split()[1], command) for _, lines in _NEXT for command, _ in lines],
)
def test_an_example_can_be_typed(name: str, line: str) -> None:
    assert len(line) <= 76
    program, *words = shlex.split(line.split("    ")[0].partition(" > ")[0])
    assert program == "harness"
    assert words[: len(name.split())] == name.split()
    if name != "--help":
        commands()[name].make_context(name, words[len(name.split()) :])


def test_a_shell_completes_commands_and_problems() -> None:
    def offered(words: str) -> list[str]:
        environment = {
            **os.environ,
            "_HARNESS_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        }
        program = "import sys; sys.argv[0] = 'harness'; from harness.cli import main; main()"
        argv = [sys.executable, "-c", program]
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True)
        return done.stdout.split()

    assert offered("harness di") == ["diff", "diagnose"]
    assert offered("harness run 1-") == ["1-torchao-float8"]
    assert offered("harness run 1 --variant bf16-e") == ["bf16-eager"]
    assert offered("harness run --engine po") == ["podman"]
    assert offered("harness run no-such-problem --case s") == []
    assert offered("harness check 1 --claim weight-only-d") == ["weight-only-decode"]


def test_the_nearest_names_are_told() -> None:
    names = ["bf16-eager", "bf16-compiled", "f8-0.13.0-eager"]
    assert nearest("bf16-eger", names).startswith("did you mean bf16-eager")
    assert nearest("0.13.0", names) == "did you mean f8-0.13.0-eager?"
    assert nearest("zzz", names) == f"there are: {', '.join(names)}"
    many = [f"{number:03}" for number in range(100)]
    assert nearest("zzz", many).endswith("011, …")


def test_a_checkout_without_problems_says_how_to_write_one(tmp_path: Path) -> None:
    from harness.problem import manifest

    with pytest.raises(UsageError, match="harness new writes one"):
        manifest.find(tmp_path, "1")
