"""The draft of a new problem can be read, planned, rendered, reviewed, tested and run at once."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.ground import files
from harness.ground.errors import UsageError
from harness.lint.sentences import concluding
from harness.problem import manifest, new
from harness.report import publish
from tests.support.paths import ROOT
from tests.support.reports import KEPT, copied
from tests.support.torch_cpu import PYTHON, needs_torch

OF_TESTS = "ANN,D,S101,ARG002"
"""What pyproject.toml allows in tests/**."""


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    (tmp_path / "tests" / "problems").mkdir(parents=True)
    (tmp_path / "problems").mkdir()
    return tmp_path / "problems"


def test_it_takes_the_next_number_and_its_own_name(problems: Path) -> None:
    for name in ("0-ceilings", "12-other", "workloads"):
        (problems / name).mkdir()
    draft = new.write(problems, "slow-sort")
    assert draft.folder == problems / "13-slow-sort"
    assert draft.test == problems.parent / "tests" / "problems" / "test_slow_sort.py"
    texts = [path.read_text() for path in [*draft.folder.iterdir(), draft.test]]
    assert not any("@" in word for text in texts for word in text.split() if word.isupper())
    problem = manifest.load(draft.folder)
    assert (problem.number, problem.title) == (13, "Slow sort")


@pytest.mark.parametrize("name", ["7-sort", "Sort", "", "a b", "../x", "a" * 61, "é", "x\n"])
def test_a_name_that_no_folder_can_have_is_refused(problems: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a problem"):
        new.write(problems, name)
    assert list(problems.iterdir()) == []


def test_a_name_that_is_taken_is_refused(problems: Path) -> None:
    first = new.write(problems, "sort")
    with pytest.raises(UsageError, match="problem 1 is called 'sort'"):
        new.write(problems, "sort")
    assert list(problems.iterdir()) == [first.folder]


def test_a_test_that_stands_is_left_alone(problems: Path) -> None:
    test = problems.parent / "tests" / "problems" / "test_sort.py"
    test.write_text("mine\n")
    assert new.write(problems, "sort").test is None
    assert test.read_text() == "mine\n"


def test_its_files_are_styled_as_the_others(problems: Path) -> None:
    draft = new.write(problems, "sort")
    paths = [str(draft.folder / "repro.py"), str(draft.test)]
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for arguments in (
        ["check", *config, "--extend-ignore", OF_TESTS],
        ["format", "--check", *config],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, *paths], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_its_test_passes(problems: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = new.write(problems, "sort")
    assert draft.test is not None
    monkeypatch.setattr("tests.support.paths.ROOT", problems.parent)
    module: dict[str, object] = {"__name__": "test_sort"}
    exec(compile(draft.test.read_text(), draft.test, "exec"), module)  # noqa: S102 - our own draft
    problem = manifest.load(draft.folder)
    for device in ("cuda", "cpu"):
        module["test_each_variant_is_timed_in_each_case"](problem, device)  # type: ignore[operator]
    module["test_a_review_has_no_remarks"](problem)  # type: ignore[operator]


def test_its_template_is_rendered_and_concludes_only_what_its_claims_bear_out(
    problems: Path, tmp_path: Path
) -> None:
    draft = new.write(problems, "sort")
    problem = manifest.load(draft.folder)
    template = (draft.folder / publish.WORKLOG).read_text(encoding="utf-8")
    assert list(concluding(template)) == []
    text = publish.render(problem, copied(KEPT, tmp_path))["README.md"]
    assert text.startswith("# Sort\n\n**Not measured on NVIDIA H200**")
    assert "`batched-faster`" in text


def test_its_script_names_what_its_manifest_reads(problems: Path) -> None:
    draft = new.write(problems, "sort")
    tree = ast.parse((draft.folder / "repro.py").read_text())
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    problem = manifest.load(draft.folder)
    options = {option for variant in problem.variants.values() for option in variant.options}
    assert options <= words
    assert {key for case in problem.cases.values() for key in case.params} <= words


@pytest.mark.slow
@needs_torch
def test_it_runs_at_once(problems: Path) -> None:
    new.write(problems, "sort")
    checkout = problems.parent
    (checkout / "harness").symlink_to(ROOT / "harness")
    (checkout / "requirements").symlink_to(ROOT / "requirements")
    one = ["--case", "small", "--capture", "timing", "--rounds", "1"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "harness",
            "run",
            "1",
            "--engine",
            "local",
            "--python",
            str(PYTHON),
            *one,
        ],
        cwd=ROOT,
        env={**os.environ, "WORKLOGS_CHECKOUT": str(checkout)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (checkout / "runs" / "1-sort").iterdir()
    records = [files.read_json(path) for path in run.glob("cells/*/cell.json")]
    assert {(record["variant"], record["status"]) for record in records} == {
        ("one-by-one", "ok"),
        ("batched", "ok"),
    }
