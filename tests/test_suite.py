"""Rules of the tests themselves: what they may share, and what they leave alone."""

from pathlib import Path

import pytest

from tests.support.imports import imported_names
from tests.support.paths import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_imports_no_other_test(path: Path) -> None:
    own = [name for name in imported_names(path) if name.startswith("tests.")]
    assert [name for name in own if not name.startswith("tests.support.")] == []
