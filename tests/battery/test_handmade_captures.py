"""Captures made by hand: each gives the line that handmade_captures.txt says.

A line there is a capture's name, a tab, and what `harness inspect` says after the path, or "read".
"""

import os
from pathlib import Path

import pytest

from harness.extract import door
from harness.ground.errors import HarnessError
from tests.support.battery import Figures
from tests.support.handmade_captures import captures

LINES = Path(__file__).with_name("handmade_captures.txt")


def test_each_capture_gives_its_line(tmp_path: Path, figures: Figures) -> None:
    expected = dict(line.split("\t") for line in LINES.read_text().splitlines())
    said = {name: line(tmp_path, content) for name, content in captures(tmp_path).items()}
    assert said == expected
    assert len(said) >= 160
    refused = [each for each in said.values() if each != "read"]
    figures(captures=len(said), refused=len(refused))
    assert [each for each in refused if "please report it" in each] == []


def line(folder: Path, content: bytes) -> str:
    """Return the complaint about a capture without its path, or "read" if there is none."""
    path = folder / "capture"
    path.write_bytes(content)
    try:
        door.opened(str(path), "totals")
    except HarnessError as error:
        said = str(error)
        assert said.startswith(f"{path}: ")
        return said.removeprefix(f"{path}: ")
    return "read"


@pytest.mark.parametrize("name", ["none", "folder", "pipe"])
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(HarnessError) as error:
        door.opened(str(tmp_path / name))
    assert str(error.value).startswith(f"{tmp_path / name}: ")
