"""Fixtures that several tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

from harness.machine.target import Gpu, Target
from harness.problem import manifest
from harness.problem.model import Problem
from tests.support.manifests import GOOD, written

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def example(tmp_path: Path) -> Problem:
    """A small problem with two variants and one claim."""
    return manifest.load(written(tmp_path, GOOD))


@pytest.fixture
def a_lock_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's locks lie in the test's folder: nobody else's run is in the way."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def with_gpu() -> Target:
    """A machine with a GPU, wherever the tests run."""
    gpu = Gpu(0, "GPU-1234", "NVIDIA H200", "9.0", 150 << 30, "580.1", "13.0")
    return Target(gpu, "a CPU", 8, 64 << 30, "a system", None, None, None)
