"""What a set-up shows: the last line of its log again and again, on a terminal in one place."""

import io
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import waiting
from harness.cli.waiting import Waiting


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do, a minute at most."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_last_line_of_a_log_is_shown_as_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr(waiting, "_LOOK_S", 0.01)
    monkeypatch.setattr(waiting, "_PLAIN_S", 0.01)
    console = Console(
        file=(printed := io.StringIO()), width=100, force_terminal=terminal, color_system=None
    )
    log = tmp_path / "install.txt"
    with Waiting(console=console) as shown:
        shown.say("the first line stays")
        shown.work_on("setting up", log)
        wait_until(partial(_shows, printed, "setting up, "))
        for package in ("torch [cpu]", "numpy"):
            log.write_text(f"Collecting one\nCollecting {package}\n")
            wait_until(partial(_shows, printed, f": Collecting {package}"))
    assert printed.getvalue().count("the first line stays") == 1


def _shows(printed: io.StringIO, text: str) -> bool:
    return text in printed.getvalue()


def test_quiet_prints_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PLAIN_S", 0.01)
    console = Console(file=(printed := io.StringIO()), quiet=True)
    with Waiting(quiet=True, console=console) as shown:
        shown.say("a line")
        shown.work_on("work", tmp_path)
        time.sleep(0.1)
    assert printed.getvalue() == ""
