"""Fixtures that several tests share."""

from pathlib import Path

import pytest

from harness import problem
from tests.test_problem import GOOD, manifest


@pytest.fixture
def example(tmp_path: Path) -> problem.Problem:
    """A small problem with two variants and one claim."""
    return problem.load(manifest(tmp_path, GOOD))
