"""The workflows: two linters find nothing, and find what is planted; and the action that checks."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.manifests import GOOD, written
from tests.support.paths import DATA, ROOT
from tests.support.run_cells import timed

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTION = GITHUB / "actions" / "check"
NSYS = DATA / "nsys" / "streams.sqlite.zst"


def linted(folder: Path) -> tuple[str, str]:
    """Return what actionlint and zizmor say of a folder's .github, "" where they find nothing."""
    bin_folder = Path(sys.executable).parent
    flows = sorted((folder / ".github" / "workflows").glob("*.yml"))
    commands: tuple[list[str | Path], ...] = (
        [bin_folder / "actionlint", "-no-color", *flows],
        [bin_folder / "zizmor", "--offline", "--quiet", "--collect=all", folder / ".github"],
    )
    said = []
    for argv in commands:
        done = subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True)
        clean = "" if done.returncode == 0 else f"exit code {done.returncode}"
        said.append(clean and clean + done.stdout + done.stderr)
    return said[0], said[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(GITHUB, tmp_path / ".github")
    return tmp_path


def test_the_linters_find_nothing(copy: Path) -> None:
    assert linted(copy) == ("", "")


@pytest.mark.parametrize(
    ("file", "old", "new", "linters", "finding"),
    [
        ("ci.yml", r"checkout@\w{40} # v", "checkout@v", (1,), "unpinned-uses"),
        ("ci.yml", "pull_request:", "pull_request_target:", (1,), "dangerous-triggers"),
        ("ci.yml", "persist-credentials: false", "clean: true", (1,), "artipacked"),
        ("release.yml", "needs: build", "needs: built", (0,), "built"),
        ("ci.yml", "timeout-minutes", "timeout-hours", (0,), "timeout-hours"),
        (
            "ci.yml",
            r"run: \.ci/run",
            "run: echo ${{ github.event.pull_request.title }}",
            (0, 1),
            "pull_request.title",
        ),
    ],
)
def test_the_linters_find_what_is_planted(
    copy: Path, file: str, old: str, new: str, linters: tuple[int, ...], finding: str
) -> None:
    path = copy / ".github" / "workflows" / file
    text, count = re.subn(old, new, path.read_text(encoding="utf-8"), count=1)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    said = linted(copy)
    assert all(finding in said[linter] for linter in linters), said


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_begins_without_rights(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {}


def test_each_study_with_a_dockerfile_has_an_image() -> None:
    images = yaml.safe_load((GITHUB / "workflows" / "images.yml").read_text(encoding="utf-8"))
    listed = images["jobs"]["study"]["strategy"]["matrix"]["study"]
    assert listed == sorted(path.parent.name for path in ROOT.glob("problems/*/Dockerfile"))


@pytest.mark.parametrize("name", ["ci", "nightly"])
def test_changes_are_tested_in_the_base_of_the_images(name: str) -> None:
    (job,) = yaml.safe_load((GITHUB / "workflows" / f"{name}.yml").read_text())["jobs"].values()
    assert f"ARG BASE_IMAGE={job['container']['image']}\n" in (
        ROOT / "docker" / "Dockerfile"
    ).read_text(encoding="utf-8")


def acted(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run what the action runs, with its inputs as its metadata hands them over."""
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    assert inputs.keys() <= action["inputs"].keys()
    defaults = {name: str(each.get("default", "")) for name, each in action["inputs"].items()}
    given = {name.upper().replace("-", "_"): value for name, value in (defaults | inputs).items()}
    (step,) = (
        step for step in action["runs"]["steps"] if "GITHUB_ACTION_PATH/check" in step["run"]
    )
    installing = action["runs"]["steps"][0]["env"].keys() - {"ROOT"}
    assert (step["env"].keys() - {"PYTHON"}) | installing == given.keys()
    env = os.environ | given | {"PYTHON": sys.executable}
    return subprocess.run(
        [ACTION / "check"], cwd=folder, env=env, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(("now", "code"), [(2.0, 0), (2.2, 1)])
def test_the_action_fails_where_a_metric_got_worse(tmp_path: Path, now: float, code: int) -> None:
    runs = [timed(tmp_path / "runs", value) for value in (2.0, now)]
    written(tmp_path / "problems", GOOD)
    done = acted(
        tmp_path,
        study="9",
        run=str(runs[1].folder),
        against=str(runs[0].folder),
        checkout=str(tmp_path),
    )
    assert done.returncode == code, done.stderr
    failures = (tmp_path / "junit.xml").read_text(encoding="utf-8").count("<failure")
    assert failures == done.stderr.count("::error title=") == code


def test_the_action_makes_captures_cells_and_compares_them(tmp_path: Path) -> None:
    kernels = "  kernels: {label: k, unit: kernels, capture: nsys, measure: kernels_per_step}\n"
    manifest = GOOD.replace("timing: {}", "timing: {}\n  nsys: {}")
    manifest = manifest.replace("claims:", f"{kernels}claims:")
    written(tmp_path / "problems", manifest)
    inputs = {"study": "9", "captures": f"\n{NSYS}\n", "cell": "small/slow", "range": "step"}
    acted(tmp_path, **inputs, against=str(tmp_path), checkout=str(tmp_path))  # the first run
    (first,) = (tmp_path / "runs").glob("*/*")
    done = acted(tmp_path, **inputs, against=str(first), checkout=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 worse" in done.stdout


@pytest.mark.parametrize(("after", "code"), [("same_1", 0), ("pageable", 1), ("same_2", 3)])
def test_the_action_compares_two_captures_without_a_study(
    tmp_path: Path, after: str, code: int
) -> None:
    sides = [str(DATA / "differences" / f"{name}.sqlite.zst") for name in ("same_1", after)]
    done = acted(tmp_path, before=sides[0], after=sides[1], range="step:planted")
    assert done.returncode == code, done.stderr
    failures = (tmp_path / "junit.xml").read_text(encoding="utf-8").count("<failure")
    assert failures == done.stderr.count("::error title=") == (code == 1)


def test_the_action_says_what_is_not_given(tmp_path: Path) -> None:
    done = acted(tmp_path, study="9", against="reports")
    assert (done.returncode, done.stderr) == (2, "check: neither run nor captures is given\n")
    both = {"before": str(NSYS), "after": str(NSYS)}
    for inputs in ({}, {"study": "9"}, {"before": str(NSYS)}, {**both, "study": "9"}):
        done = acted(tmp_path, **inputs)
        line = "check: give either before and after, or study and against\n"
        assert (done.returncode, done.stderr) == (2, line)
    done = acted(tmp_path, study="9", against="reports", captures=str(NSYS))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
