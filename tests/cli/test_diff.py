"""``harness diff`` as a user meets it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from harness.cli.diff import diff
from tests.support import reports
from tests.support.paths import ROOT
from tests.support.warm import harness

DATA = ROOT / "tests" / "data"
REPORT = str(reports.KEPT.relative_to(ROOT))
CELL = f"{REPORT}:stack-m1.bf16-eager"

app = typer.Typer()
app.command()(diff)


def run(*arguments: object) -> str:
    """Run the command; what it printed, or the error that it raised."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def summed(change: dict[str, Any]) -> int:
    """Return the change of a whole step in ns, by the rows."""
    return sum(row["b"]["total_ns"] - row["a"]["total_ns"] for row in change["rows"])


PAIRS = [
    ("nsys/streams.sqlite.zst", "nsys/graph_node.sqlite.zst"),
    ("torch/streams.json.gz", "torch/graph.json.gz"),
    ("torch/streams.json.gz", "torch/streams.json.gz"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_timelines_in_every_form(a: str, b: str) -> None:
    sides = DATA / a, DATA / b
    change = json.loads(run(*sides, "--json"))
    assert (change["a"], change["b"]) == tuple(map(str, sides))
    assert change["gpu"]["b_ns"] - change["gpu"]["a_ns"] == summed(change["gpu"])
    assert change["gpu"]["a_ns"] > 0
    whole = change["gpu"]["step"] == ["whole capture"] * 2
    assert change["headline"].startswith("The capture takes " if whole else "A step takes ")
    if a == b:
        assert {row["change"] for row in change["gpu"]["rows"]} == {"unchanged"}
    text = run(*sides)
    assert text.startswith(f"A: {sides[0]}\nB: {sides[1]}\n")
    assert "whole step" in text
    html = MarkdownIt("commonmark").enable("table").render(run(*sides, "--markdown"))
    assert "<h2>GPU time of a step</h2>" in html
    assert "<td>whole step</td>" in html


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("memory/graph.pickle.zst", "Memory by pool"),
        ("torch/graph.json.gz", "GPU time of a step"),
    ],
)
def test_files_against_themselves(name: str, title: str) -> None:
    assert title in run(DATA / name, DATA / name)
    assert f"## {title}" in run(DATA / name, DATA / name, "--markdown")
    change = json.loads(run(DATA / name, DATA / name, "--json"))
    assert (change["differing"], change["refused"]) == ([], [])


def test_counters_that_do_not_differ_are_not_listed() -> None:
    text = run(*[DATA / "ncu/small.ncu-rep.zst"] * 2)
    assert "Alike: GPU, CUDA, profiler" in text
    assert "No kernel's time under Nsight Compute changed" in text
    assert "Counters:" not in text


def test_memory_as_json_sums() -> None:
    pair = (DATA / "memory/graph.pickle.zst", DATA / "memory/stack_013_eager.json.gz")
    document = json.loads(run(*pair, "--json"))
    change = document["memory"]
    assert document["headline"].startswith("The peak")
    totals = json.loads((DATA / "memory/graph.json").read_text())
    assert sum(pool["reserved"][0] for pool in change["pools"]) == totals["reserved"]
    assert sum(pool["allocated"][0] for pool in change["pools"]) == totals["allocated"]


def test_two_cells_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    other = f"{REPORT}:stack-m1.f8-0.18.0-eager"
    change = json.loads(run(CELL, other, "--json"))
    assert {ratio["verdict"] for ratio in change["timing"]} == {"slower"}
    assert summed(change["gpu"]) == change["gpu"]["b_ns"] - change["gpu"]["a_ns"]
    assert change["counters"]
    text = run(CELL, other)
    for part in ("Unprofiled times", "slower", "whole step", "Profiled kernels", "Memory by pool"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 120


def test_a_report_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = run(REPORT, REPORT, "--markdown")
    lines = [line for line in text.splitlines() if line.startswith("| stack-m1")]
    assert len(lines) > 5
    assert all("1× [1, 1]" in line.replace("&#91;", "[").replace("&#93;", "]") for line in lines)
    assert all("not told apart" in line for line in lines)


def test_the_range_of_a_step_can_be_named() -> None:
    path = DATA / "nsys/streams.sqlite.zst"
    change = json.loads(run(path, path, "--json", "--range", "step"))["gpu"]
    assert change["ranges"] == ["step", "step"]
    assert change["step"] == ["3 × step with its range"] * 2
    found = json.loads(run(path, path, "--json"))["gpu"]
    assert found["step"] == ["2 of 3 × step"] * 2  # in the first one the program warms up


BAD = {
    "neither": (("/absent/a", "/absent/b"), "/absent/a: no such file"),
    "second": ((DATA / "torch/graph.json.gz", "/absent/b"), "/absent/b: no such file"),
    "no capture": (("README.md", "README.md"), "README.md: not a capture"),
    "no run": (("tests", "tests"), "tests: no capture in it"),
    "unknown cell": ((f"{REPORT}:no.such", CELL), "no finished cell of no.such"),
    "unknown cell lists": ((CELL, f"{REPORT}:no.such"), "stack-m1.bf16-eager"),
    "one whole": ((REPORT, CELL), "FOLDER:CASE.VARIANT"),
    "other whole": ((DATA / "torch/graph.json.gz", REPORT), "FOLDER:CASE.VARIANT"),
    "kinds": (
        (DATA / "torch/graph.json.gz", DATA / "memory/graph.pickle.zst"),
        "torch of the first, memory of the second",
    ),
    "two forms": ((CELL, CELL, "--json", "--markdown"), "--json and --markdown exclude"),
    "no second": ((CELL,), "Missing argument"),
    "unknown range": (
        (DATA / "torch/graph.json.gz", DATA / "torch/graph.json.gz", "--range", "absent"),
        "absent",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[object, ...], message: str) -> None:
    done = harness("diff", *arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert message in line
    assert done.stdout == ""


def test_an_empty_capture_says_why_nothing_is_compared(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"schemaVersion": 1, "traceEvents": []}')
    done = harness("diff", DATA / "torch/graph.json.gz", empty)
    assert done.returncode == 2
    assert done.stderr.startswith(f"harness: {empty}: no events of torch.profiler")


def test_folders_of_captures_are_compared_kind_by_kind(tmp_path: Path) -> None:
    kept = {"rank0.json.gz": "torch/graph.json.gz", "rank1.json.gz": "torch/streams.json.gz"}
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for name, source in kept.items():
            shutil.copy(DATA / source, tmp_path / side / name)
    shutil.copy(DATA / "nsys/streams.sqlite.zst", tmp_path / "b")
    (tmp_path / "b" / "cut.sqlite").write_bytes(b"SQLite format 3\0")
    change = json.loads(run(tmp_path / "a", tmp_path / "b", "--json"))
    assert [Path(pair["a"]).name for pair in change["pairs"]] == list(kept)
    assert all(summed(pair["gpu"]) == 0 for pair in change["pairs"])
    assert change["only_b"] == [str(tmp_path / "b" / "streams.sqlite.zst")]
    text = run(tmp_path / "a", tmp_path / "b")
    assert text.count("GPU time of a step") == 2
    assert "Only in B: " in text
    assert "Not read: " in text


def test_a_path_cannot_steer_the_terminal_or_the_page(tmp_path: Path) -> None:
    path = tmp_path / "a`<b>x\x1b[31m.gz"
    shutil.copy(DATA / "torch/graph.json.gz", path)
    assert "\x1b[31m" not in run(path, path)
    page = run(path, path, "--markdown")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert "<b>" not in html
    assert "\x1b" not in page
    assert json.loads(run(path, path, "--json"))["a"] == str(path)
