"""The wheel and the source archive: the same files, and usable in each Python outside a checkout.

The Pythons beside our own lie in the folder WORKLOGS_TEST_PYTHONS, which .ci/pythons fills.
"""

import ensurepip
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from flit_core import buildapi

from harness.ground.checkout import VARIABLE
from tests.support import reports
from tests.support.battery import Figures, part
from tests.support.paths import DATA, ROOT
from tests.support.warm import harness

pytestmark = pytest.mark.installs

OWN = "{}.{}".format(*sys.version_info[:2])
OTHERS = (*part(("3.12", "3.13")), "3.14")
"""For a change one of those between the oldest and the newest, the other one the next day."""

CAPTURES = (
    *("nsys/streams.sqlite.zst", "torch/streams.json.gz"),
    *("ncu/small.ncu-rep.zst", "memory/graph.pickle.zst"),
)
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"
COMPILE = """
import compileall, sys, warnings
warnings.simplefilter("error")
sys.exit(not compileall.compile_dir(sys.argv[1], quiet=1, force=True))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive, built from the files that git tracks."""
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "harness", "pyproject.toml", "README.md", "LICENSE"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in tracked.strip("\0").split("\0"):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    return wheel_of(tree, folder), archive_of(tree, folder)


def wheel_of(tree: Path, folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        return folder / str(buildapi.build_wheel(str(folder)))


def archive_of(tree: Path, folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        return folder / str(buildapi.build_sdist(str(folder)))


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_the_archive_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, archive = built
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    files = content(wheel)
    assert content(wheel_of(tree, tmp_path)) == files
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "harness").rglob("*")}
    inside = {name for name in files if ".dist-info/" not in name}
    assert inside <= package
    assert {"harness/py.typed", "harness/cli/__init__.py", "harness/report/short.md.j2"} <= inside


@pytest.fixture(scope="module")
def inspected() -> dict[Path, str]:
    """What `harness inspect` says of a capture of each kind, in this checkout."""
    said = {}
    for capture in (DATA / name for name in CAPTURES):
        done = harness("inspect", capture, "--json")
        done.check_returncode()
        said[capture] = done.stdout
    return said


class Installed:
    """The wheel in an environment of its own; ``harness`` runs there, outside any checkout."""

    def __init__(self, folder: Path, python: Path, wheel: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        self.outside.mkdir(parents=True)
        self.python = folder / "venv" / "bin" / "python"
        run(python, "-m", "venv", "--without-pip", folder / "venv")
        self.site = Path(run(self.python, "-c", PACKAGES).strip())
        (self.site / "packages.pth").write_text(run(python, "-c", PACKAGES))
        install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile")
        run(self.python, *install, "--ignore-installed", wheel, PYTHONPATH=str(pip_of(python)))

    def harness(self, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.outside), "COLUMNS": "200", **variables}
        argv = [str(self.python.with_name("harness")), *map(str, arguments)]
        return subprocess.run(
            argv, cwd=self.outside, env=env, check=False, capture_output=True, text=True
        )

    def said(self, *arguments: object, **variables: str) -> str:
        done = self.harness(*arguments, **variables)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        return done.stdout

    def files(self) -> dict[str, int]:
        """Return the files beside the installed package, but bytecode, with times of change."""
        found = (path for path in self.site.rglob("*") if path.is_file())
        return {
            str(path): path.stat().st_mtime_ns
            for path in found
            if path.parent.name != "__pycache__"
        }


def run(python: Path, *arguments: object, **variables: str) -> str:
    argv = [str(python), *map(str, arguments)]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables}
    done = subprocess.run(argv, cwd="/", env=env, check=True, capture_output=True, text=True)
    return done.stdout


def pip_of(python: Path) -> Path:
    """Return the wheel of a pip that this Python can run."""
    brought = sorted(python.parents[2].glob("pip-*.whl"))
    bundled = sorted((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    return [*bundled, *brought][-1]


@pytest.fixture(scope="module", params=[OWN, *OTHERS])
def installed(
    request: pytest.FixtureRequest,
    built: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installed]:
    version = request.param
    python = Path(sys.executable)
    if version != OWN:
        if "WORKLOGS_TEST_PYTHONS" not in os.environ:
            pytest.skip("WORKLOGS_TEST_PYTHONS is not set: see .ci/pythons")
        python = Path(os.environ["WORKLOGS_TEST_PYTHONS"]) / version / "bin" / "python"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKLOGS_REFUSED")  # the marker's word, before it reaches a fixture
        there = Installed(tmp_path_factory.mktemp(f"python-{version}"), python, built[0])
    before = there.files()
    yield there
    assert there.files() == before, "the harness wrote where it is installed"


def test_it_is_the_installed_package_that_runs(installed: Installed) -> None:
    where = run(installed.python, "-c", "import harness; print(harness.__file__)")
    assert Path(where.strip()).is_relative_to(installed.site)


def test_it_compiles_without_a_warning(installed: Installed, tmp_path: Path) -> None:
    run(
        installed.python,
        "-X",
        f"pycache_prefix={tmp_path}",
        "-c",
        COMPILE,
        installed.site / "harness",
    )


def test_captures_are_read_as_in_the_checkout(
    installed: Installed, inspected: dict[Path, str], figures: Figures
) -> None:
    for capture, here in inspected.items():
        assert installed.said("inspect", capture, "--json") == here
    figures(kinds=len(inspected))


def test_two_captures_are_compared(installed: Installed) -> None:
    pair = [DATA / "differences" / f"{name}.json.gz" for name in ("template", "added")]
    assert json.loads(installed.said("diff", *pair, "--json"))
    assert installed.said("diagnose", *pair[:1])


def test_a_report_is_rendered_as_in_the_checkout(installed: Installed, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("problems", "requirements"):
        (clone / name).symlink_to(ROOT / name)
    committed = reports.committed("3-cudagraph-memory")
    copy = reports.copied(committed, clone / "reports")
    env = {VARIABLE: str(clone)}
    installed.said("report", "3", "--report", copy, **env)
    for path in sorted(copy.rglob("*.md")):
        assert path.read_bytes() == (committed / path.relative_to(copy)).read_bytes()
    assert "repro.py" in installed.said("run", "3", "--commands", "--engine", "local", **env)


def test_without_a_checkout_it_says_what_it_lacks(installed: Installed) -> None:
    for command in (("list",), ("run", "1"), ("report",), ("doctor", "--calibrate")):
        done = installed.harness(*command)
        assert done.returncode in (1, 2)
        assert len(done.stderr.splitlines()) == 1
    assert json.loads(installed.said("schema"))["title"] == "Problem"
    assert json.loads(installed.harness("doctor", "--json").stdout)["checks"]
