"""What a command is given, and what a capture or a log says, steers no terminal."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli.progress import Progress
from harness.cli.waiting import Waiting
from harness.ground.plain import plain
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.paths import ROOT

WORD = "\x1b[2J\x9b31m\u202ex\ufeff\u00ad"


@pytest.mark.parametrize(
    "arguments",
    [("inspect", WORD), ("diff", WORD, WORD), ("check", "--report", WORD), ("run", WORD), (WORD,)],
    ids=lambda arguments: arguments[0].strip(WORD) or "none",
)
def test_an_argument_comes_back_plain(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("harness: ")
    assert plain(line) == line
    assert done.stdout == b""


def test_a_file_is_named_plainly(tmp_path: Path) -> None:
    folder = tmp_path / WORD
    folder.mkdir()
    (folder / f"{WORD}.json").write_bytes((ROOT / "tests/data/memory/graph.json").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "harness", "inspect", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    shown = (done.stdout + done.stderr).decode()
    assert "x" in shown
    assert all(plain(line) == line for line in shown.split("\n"))


def test_progress_and_waiting_show_plain_lines(example: Problem, tmp_path: Path) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=False, width=200)
    cells = plan(example, Selected(), "cpu")[:1]
    log = tmp_path / "log.txt"
    log.write_text(WORD)
    with Progress(cells, console=console) as progress:
        progress.notify(cells[0], "running", 0.0)
        progress.notify(cells[0], f"failed: {WORD}", 1.0)
    with Waiting(console=console) as waiting:
        waiting.say(WORD)
        waiting.work_on(WORD, log)
    lines = stream.getvalue().split("\n")
    assert any("failed: " in line for line in lines)
    assert all(plain(line) == line for line in lines)
