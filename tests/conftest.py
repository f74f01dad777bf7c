"""Fixtures that several tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from harness.machine.target import Gpu, Target
from harness.problem import manifest
from harness.problem.model import Problem
from tests.support import battery, reports
from tests.support.guard import sitecustomize
from tests.support.manifests import GOOD, written

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
sitecustomize.install()


_FIRST = (
    "tests/site/test_site.py",
    "tests/engines/test_real_containers.py",
    "tests/battery/test_installed.py",
    "tests/run/cluster/test_real_slurm.py",
    "tests/contribute/test_contribution.py",
    "tests/run/test_by_hand.py",
    "tests/test_release.py",
    "tests/test_tutorial.py",
)
"""Files that take longest: a worker that begins with one does not keep the others waiting."""

_LAST = "tests/battery/test_kills_in_containers.py"
"""Counts an engine's containers, as test_real_containers.py does: they must not run together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first."""
    places = {name: place for place, name in enumerate(_FIRST)} | {_LAST: len(_FIRST) + 1}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(_FIRST)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which attacks the battery made."""
    terminalreporter.write_line(
        f"battery: {battery.SCALE:g} of its rounds, WORKLOGS_BATTERY_SEED={battery.SEED}"
    )


@pytest.fixture(autouse=True, scope="session")
def refused_installers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Watch for package installers, here and in every Python below; notes are in this file."""
    refused = tmp_path_factory.getbasetemp() / "refused-installers"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKLOGS_REFUSED", str(refused))
        patch.setenv("PYTHONPATH", str(Path(sitecustomize.__file__).parent), prepend=os.pathsep)
        yield refused


@pytest.fixture(autouse=True, scope="session")
def one_thread_each() -> Iterator[None]:
    """Compute on one core in each process: threads that wait for a busy core spin meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(autouse=True, scope="session")
def reports_are_left_alone() -> Iterator[None]:
    """Tests render copies of the committed reports."""
    before = reports.state()
    yield
    assert reports.state() == before, "reports/ changed while the tests ran"


@pytest.fixture(autouse=True)
def no_installer(
    request: pytest.FixtureRequest, refused_installers: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A test that starts a package installer fails, unless its marker ``installs`` says it may."""
    if request.node.get_closest_marker("installs"):
        monkeypatch.delenv("WORKLOGS_REFUSED")
    yield
    if refused_installers.exists():
        lines = refused_installers.read_text(encoding="utf-8")
        refused_installers.unlink()
        pytest.fail(f"starts a package installer:\n{lines}", pytrace=False)


@pytest.fixture
def example(tmp_path: Path) -> Problem:
    """A small problem with two variants and one claim."""
    return manifest.load(written(tmp_path, GOOD))


@pytest.fixture
def a_lock_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's locks lie in the test's folder: nobody else's run is in the way."""
    monkeypatch.setattr("harness.machine.gpu_lock.FOLDER", tmp_path)


@pytest.fixture
def with_gpu() -> Target:
    """A machine with a GPU, wherever the tests run."""
    gpu = Gpu(0, "GPU-1234", "NVIDIA H200", "9.0", 150 << 30, "580.1", "13.0")
    return Target(gpu, "a CPU", 8, 64 << 30, "a system", {}, None)
