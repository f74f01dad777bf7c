"""The harness installed apart from the repository: what works there, and what it says it lacks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.ground.checkout import VARIABLE
from tests.support.manifests import GOOD, written
from tests.support.paths import DATA, ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package alone, as site-packages does."""
    folder = tmp_path_factory.mktemp("site-packages")
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "harness", folder / "harness", ignore=unused)
    return folder


def harness(installed: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(installed), "COLUMNS": "200", **variables}
    argv = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(
        argv, cwd=installed, env=env, check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("new", "slow-attention"),
        ("run", "1"),
        ("check", "1"),
        ("report",),
        ("report", "1"),
        ("report", "--join", "a", "b"),
        ("contribute", "--push", "elsewhere"),
    ],
)
def test_a_command_that_needs_the_problems_says_so_in_one_line(
    installed: Path, arguments: tuple[str, ...]
) -> None:
    before = sorted(path for path in installed.rglob("*") if "__pycache__" not in path.parts)
    done = harness(installed, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "needs a problems folder" in line
    assert line.startswith(f"harness: {installed}: ")
    assert line.endswith(f"(run it in a clone of the repository, or set {VARIABLE} to one)")
    after = sorted(path for path in installed.rglob("*") if "__pycache__" not in path.parts)
    assert after == before


def test_alone_it_offers_no_command_that_needs_the_problems(installed: Path) -> None:
    said = harness(installed).stdout
    offered = {line.split()[1] for line in said.splitlines() if line.startswith("  harness ")}
    assert {"diagnose", "doctor"} <= offered and "  cd CLONE" in said
    assert not offered & {"studies", "list", "run", "new", "lint"}
    assert "harness list" in harness(installed, **{VARIABLE: str(ROOT)}).stdout


def test_a_capture_is_inspected_and_compared_without_a_checkout(installed: Path) -> None:
    capture = str(next(DATA.rglob("*.memory*.gz"), None) or next(DATA.rglob("*.json.gz")))
    inspected = harness(installed, "inspect", capture, "--json")
    assert inspected.returncode == 0, inspected.stderr
    compared = harness(installed, "diff", capture, capture, "--json")
    assert compared.returncode == 0, compared.stderr


def test_the_doctor_examines_the_machine_without_a_checkout(installed: Path) -> None:
    done = harness(installed, "doctor", "--json")
    assert done.returncode in (0, 1)
    assert done.stderr == ""


def test_a_folder_of_problems_alone_lists_them_and_runs_none(
    installed: Path, tmp_path: Path
) -> None:
    written(tmp_path / "problems", GOOD)
    alone = {VARIABLE: str(tmp_path)}
    assert harness(installed, "list", **alone).returncode == 0
    done = harness(installed, "run", "9", "--engine", "local", "--commands", **alone)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path}/requirements/torch-" in line
    assert f"set {VARIABLE} to one" in line


def test_the_variable_names_the_clone(installed: Path) -> None:
    done = harness(installed, "list", "--json", **{VARIABLE: str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "1-torchao-float8" in done.stdout
