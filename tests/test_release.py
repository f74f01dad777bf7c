"""``make release``: it builds and tries what a tag names, and refuses what no tag names."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import __version__
from tests.support.paths import ROOT

OWN = "{}.{}".format(*sys.version_info[:2])
PARTS = (
    *("harness", "problems", "requirements", "docker", ".gitignore"),
    *("scripts/release", "scripts/studies_wheel.py"),
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
    *("tests/data/torch/streams.json.gz", "tests/data/nsys/streams.sqlite.zst"),
    "tests/data/memory/graph.pickle.zst",
)


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    argv = ["git", *named, *arguments]
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository of what a release is made of, with a section of its version and no tag."""
    folder = tmp_path / "clone"
    for name in git(ROOT, "ls-files", "-z", *PARTS).strip("\0").split("\0"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    changes = folder / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    dated = f"## [Unreleased]\n\n## [{__version__}] - 2026-01-02\n"
    changes.write_text(text.replace("## [Unreleased]\n", dated, 1), encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Release")
    return folder


def release(clone: Path, pythons: str = OWN) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "PYTHON": sys.executable,
        "PYTHONS": pythons,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [clone / "scripts" / "release"]
    return subprocess.run(argv, env=env, check=False, capture_output=True, text=True)


def tagged(clone: Path) -> None:
    git(clone, "tag", f"v{__version__}")


def another_tag(clone: Path) -> None:
    git(clone, "tag", "v99.0.0")


def no_section(clone: Path) -> None:
    changes = clone / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    changes.write_text(text.replace(f"## [{__version__}] -", "## Before -"), encoding="utf-8")
    git(clone, "commit", "--quiet", "-am", "Drop the section")
    tagged(clone)


def a_change(clone: Path) -> None:
    tagged(clone)
    (clone / "README.md").write_text("changed", encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda _: None, "this commit has no tag"),
        (another_tag, f"the tag is v99.0.0, and harness/__init__.py says {__version__}"),
        (no_section, f"CHANGELOG.md has no section [{__version__}]"),
        (a_change, "files differ from the tag"),
    ],
    ids=["no tag", "another tag", "no section", "a change"],
)
def test_what_no_tag_names_is_not_built(clone: Path, spoil: object, why: str) -> None:
    assert callable(spoil)
    spoil(clone)
    done = release(clone)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"release: {why}")
    assert not (clone / "dist").exists()


def test_a_python_that_is_not_here_is_no_pass(clone: Path) -> None:
    tagged(clone)
    done = release(clone, f"{OWN} 3.99")
    said = "release: no python3.99 here; PYTHONS='3.11' tries one alone\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert not (clone / "dist").exists()


@pytest.mark.installs
@pytest.mark.slow
def test_a_tag_is_built_and_tried_in_a_clean_environment(clone: Path) -> None:
    tagged(clone)
    done = release(clone)
    assert done.returncode == 0, done.stderr
    wheel, archive = f"profiling_worklogs-{__version__}-py3-none-any.whl", "profiling_worklogs-"
    assert {path.name for path in (clone / "dist").iterdir()} == {
        wheel,
        f"profiling_worklogs_studies-{__version__}-py3-none-any.whl",
        f"{archive}{__version__}.tar.gz",
    }
    with zipfile.ZipFile(clone / "dist" / wheel) as file:
        assert "harness/cli/__init__.py" in file.namelist()
    assert done.stdout.count("PASSED") == 3  # twine
    assert "3 captures diagnosed" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(
        f"release: dist/ holds {__version__}. Nothing is"
    )


@pytest.mark.installs
@pytest.mark.slow
def test_a_wheel_that_reads_no_capture_is_no_release(clone: Path) -> None:
    (clone / "harness" / "analysis" / "diagnose" / "__init__.py").write_text(
        "raise SystemExit(1)\n"
    )
    git(clone, "commit", "--quiet", "-am", "Break the diagnosis")
    tagged(clone)
    done = release(clone)
    assert done.returncode == 2
    assert f"release: python{OWN} cannot read torch/streams.json.gz" in done.stderr
