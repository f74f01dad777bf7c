"""``harness diff --fail-above``: exit codes, what is printed and written, and what is refused."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support import reports
from tests.support.paths import DATA
from tests.support.warm import harness

HERE = DATA / "differences"
A, SLOWER, VARIED = (HERE / f"{name}.sqlite.zst" for name in ("same_1", "pageable", "same_2"))
MEMORY, OTHER = HERE / "held.pickle", DATA / "nsys" / "graph_level.sqlite.zst"
TORCH, NODES = DATA / "torch", DATA / "nsys" / "graph_node.sqlite.zst"


@pytest.mark.parametrize(
    ("sides", "allowed", "code", "tag", "said"),
    [
        ((A, A), "5%", 0, "system-out", "passed: a step: 1× ["),
        ((A, SLOWER), "5", 1, "failure", "failed: a step: "),
        ((A, SLOWER), " 400 % ", 0, "system-out", "allowed 5×"),
        ((SLOWER, A), "0", 0, "system-out", "passed: a step: 0."),
        ((A, VARIED), "5%", 3, "skipped", "within the spread of steps"),
        ((VARIED, VARIED), "5%", 3, "skipped", "undecided: a step: 1× [0.9"),
        ((OTHER, NODES), "5%", 3, "skipped", "undecided: a step: A records CUDA graphs"),
        ((TORCH / "streams.json.gz", TORCH / "wait_lock.json.gz"), "5%", 3, "skipped", "--range"),
        ((MEMORY, MEMORY), "5%", 3, "skipped", "the two hold neither steps nor kernels"),
    ],
)
def test_the_exit_code_the_last_line_and_the_junit_say_one_thing(
    tmp_path: Path, sides: tuple[Path, Path], allowed: str, code: int, tag: str, said: str
) -> None:
    junit = tmp_path / "junit.xml"
    done = harness("diff", *sides, "--fail-above", allowed, "--junit", junit, "--github")
    assert done.returncode == code, done
    assert said in done.stdout.splitlines()[-1]
    (case,) = ElementTree.parse(junit).getroot().iter("testcase")  # noqa: S314
    (outcome,) = case
    assert (case.get("classname"), outcome.tag) == (str(sides[1]), tag)
    assert said in (outcome.get("message") or outcome.text or "")
    annotated = "::error title=harness diff%3A " in done.stderr
    assert (annotated, done.stderr.count("\n")) == (code == 1, int(code == 1))


def test_json_holds_the_results_and_nothing_without_the_option() -> None:
    done = harness("diff", A, SLOWER, "--fail-above", "5%", "--json")
    (result,) = json.loads(done.stdout)["judged"]
    assert (done.returncode, result["status"], result["name"]) == (1, "failed", "a step")
    done = harness("diff", A, SLOWER, "--json")
    assert (done.returncode, "judged" in json.loads(done.stdout)) == (0, False)


def test_each_pair_of_two_folders_is_judged_and_a_capture_that_lacks_is_told(
    tmp_path: Path,
) -> None:
    for side, names in (("a", ("one", "two", "gone")), ("b", ("one", "two", "new"))):
        (tmp_path / side).mkdir()
        for name in names:
            shutil.copy(A, tmp_path / side / f"{name}.sqlite.zst")
    argv = ["diff", tmp_path / "a", tmp_path / "b", "--fail-above", "5%", "--json"]
    done = harness(*argv)
    judged = json.loads(done.stdout)["judged"]
    assert [each["status"] for each in judged] == ["passed", "passed", "skipped"]
    assert "Only in A: " in judged[-1]["message"]
    assert done.returncode == 3
    (tmp_path / "a" / "gone.sqlite.zst").unlink()
    assert harness(*argv).returncode == 0
    shutil.copy(SLOWER, tmp_path / "b" / "two.sqlite.zst")
    assert harness(*argv).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((A, A, "--fail-above", "abc"), "--fail-above: 'abc' is not a percentage of 0 or more"),
        ((A, A, "--fail-above", "-3%"), "--fail-above: '-3%' is not a percentage of 0 or more"),
        ((A, A, "--fail-above", "nan"), "'nan' is not a percentage"),
        ((A, A, "--fail-above", "inf%"), "'inf%' is not a percentage"),
        ((A, A, "--fail-above", "0.05"), "--fail-above: 0.05 % or 5 %? (add %)"),
        ((A, A, "--junit", "junit.xml"), "add --fail-above 5%"),
        ((A, A, "--github"), "add --fail-above 5%"),
        ((A, MEMORY, "--fail-above", "5"), "nothing to compare: nsys of the first, memory"),
        ((reports.KEPT, reports.KEPT, "--fail-above", "5"), "harness check --against"),
        ((f"{reports.KEPT}:stack-m1.bf16-eager",) * 2 + ("--fail-above", "5"), "check --against"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[object, ...], message: str) -> None:
    done = harness("diff", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line


def test_junit_that_cannot_be_written_is_one_line_and_exit_2(tmp_path: Path) -> None:
    done = harness("diff", A, A, "--fail-above", "5", "--junit", tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        f"harness: {tmp_path}: not written: Is a directory (name a file in it)\n",
    )


def test_junit_replaces_junit_and_nothing_else(tmp_path: Path) -> None:
    capture, junit = Path(shutil.copy(A, tmp_path / "j.xml")), tmp_path / "junit.xml"
    junit.write_text('<?xml version="1.0" encoding="utf-8"?><testsuites/>')
    gate = ("diff", A, A, "--fail-above", "5", "--junit")
    assert harness(*gate, junit).returncode == 0
    assert "<testcase" in junit.read_text()
    done = harness(*gate, capture)
    assert (done.returncode, done.stdout) == (2, "")
    what = "not written: it is there already, and is not JUnit XML (choose another name)"
    assert done.stderr == f"harness: {capture}: {what}\n"
    assert capture.read_bytes() == A.read_bytes()
