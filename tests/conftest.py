"""Fixtures that several tests share."""

from pathlib import Path

import pytest

from harness import manifest
from harness.problem import Problem
from tests.test_manifest import GOOD, written


@pytest.fixture
def example(tmp_path: Path) -> Problem:
    """A small problem with two variants and one claim."""
    return manifest.load(written(tmp_path, GOOD))
