"""The studies without a clone: their wheel, copied into a folder where all commands work."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import __version__
from harness.ground.studies import DISTRIBUTION
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the files that git tracks."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("out")
    parts = ("problems", "requirements", "docker", "LICENSE")
    listed = ["git", "ls-files", "-z", *parts]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in tracked.strip("\0").split("\0"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    argv = [sys.executable, str(ROOT / "scripts" / "studies_wheel.py"), str(tree), str(out)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package alone, as site-packages does."""
    folder = tmp_path_factory.mktemp("site-packages")
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "harness", folder / "harness", ignore=unused)
    return folder


@pytest.fixture(scope="module")
def studies(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the wheel's files."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def harness(site: tuple[Path, ...], at: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = ":".join(map(str, site))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(at), "COLUMNS": "200", "PYTHONPATH": path}
    argv = [sys.executable, "-P", "-m", "harness", *arguments]
    return subprocess.run(argv, cwd=at, env=env, check=False, capture_output=True, text=True)


def test_in_the_copied_folder_studies_are_listed_planned_and_drafted(
    installed: Path, studies: Path, tmp_path: Path
) -> None:
    site = (installed, studies)
    done = harness(site, tmp_path, "studies", "worklogs")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "worklogs"
    listed = harness(site, folder, "list", "--json")
    here = {path.name for path in (ROOT / "problems").glob("[0-9]*-*") if path.is_dir()}
    assert {study["name"] for study in json.loads(listed.stdout)} <= here
    assert len(json.loads(listed.stdout)) >= 12
    planned = harness(site, folder, "run", "1", "--engine", "local", "--dry-run", "--json")
    assert planned.returncode == 0, planned.stderr
    drafted = harness(site, folder, "new", "slow-sort")
    assert drafted.returncode == 0, drafted.stderr
    assert len([*(folder / "problems").glob("*-slow-sort")]) == 1


def test_a_folder_that_holds_something_is_left_alone(
    installed: Path, studies: Path, tmp_path: Path
) -> None:
    site = (installed, studies)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("kept", encoding="utf-8")
    done = harness(site, tmp_path, "studies", "mine")
    assert done.returncode == 2
    assert done.stderr == "harness: mine: is there already (name a folder to make)\n"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
    (tmp_path / "empty").mkdir()
    assert harness(site, tmp_path, "studies", "empty", "--json").returncode == 0


def test_studies_of_another_version_are_not_copied(
    installed: Path, studies: Path, tmp_path: Path
) -> None:
    (metadata,) = studies.glob("profiling_worklogs_studies-*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    assert f"Version: {__version__}\n" in text
    other = tmp_path / "first" / metadata.parent.name / "METADATA"
    other.parent.mkdir(parents=True)
    other.write_text(text.replace(f"\nVersion: {__version__}", "\nVersion: 99", 1), "utf-8")
    done = harness((tmp_path / "first", installed, studies), tmp_path, "studies", "worklogs")
    assert done.returncode == 2
    assert f"version 99 is installed, and the harness is {__version__}" in done.stderr
    assert not (tmp_path / "worklogs").exists()


def test_without_the_wheel_the_remedy_names_it(installed: Path, tmp_path: Path) -> None:
    done = harness((installed,), tmp_path, "studies", "worklogs")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"harness: {DISTRIBUTION}: the studies are not installed")
