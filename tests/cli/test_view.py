"""`harness view`: what it writes, and what it refuses in one line."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import DATA, ROOT
from tests.support.warm import harness


def view(*arguments: object) -> subprocess.CompletedProcess[str]:
    return harness("view", *arguments)


def test_two_captures_are_on_one_page_below_what_changed(tmp_path: Path) -> None:
    page = tmp_path / "both.html"
    captures = (DATA / "nsys/graph_node.sqlite.zst", DATA / "nsys/graph_level.sqlite.zst")
    done = view(*captures, "-o", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{page}: {page.stat().st_size / 1e3:.0f} kB" in done.stdout
    text = page.read_text()
    assert "graph_level.sqlite.zst</h1>" in text
    data = re.search(r'id="data">(.*?)</script>', text)
    assert data
    difference = json.loads(data[1])["difference"]
    assert difference["headline"].endswith(".")
    assert difference["rows"]


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        (ROOT / "reports/1-torchao-float8/nvidia-h200", "a whole run or report (name one of"),
        ("absent.sqlite", "no such file"),
    ],
)
def test_what_cannot_be_shown_is_one_line(tmp_path: Path, subject: object, says: str) -> None:
    page = tmp_path / "page.html"
    done = view(subject, "-o", page)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
    assert not page.exists()


def test_a_page_replaces_a_page_and_nothing_else(tmp_path: Path) -> None:
    capture = Path(shutil.copy(DATA / "nsys/graph_node.sqlite.zst", tmp_path / "own.sqlite.zst"))
    other, page = tmp_path / "index.html", tmp_path / "page.html"
    before = capture.read_bytes()
    other.write_text("<!doctype html><title>mine</title>")
    page.touch()
    for _ in range(2):
        assert view(capture, "-o", page).returncode == 0
    for taken in (capture, other):
        done = view(capture, "-o", taken)
        assert (done.returncode, done.stdout) == (2, "")
        what = "not written: it is there already, and is not a page of harness view"
        assert done.stderr == f"harness: {taken}: {what} (choose another name)\n"
    assert capture.read_bytes() == before
    assert "mine" in other.read_text()
