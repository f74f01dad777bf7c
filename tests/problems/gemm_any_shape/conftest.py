"""The modules of problem 8, and those of problem 4 that they use."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.hgemm import ANY_SHAPE

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the problem's tests as slow: together they take minutes."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def module() -> Iterator[Callable[[str], ModuleType]]:
    """The problem's scripts are found as they find each other: in their own folder."""
    problems = ANY_SHAPE, ANY_SHAPE.parent / "4-custom-hgemm"
    before = dict(sys.modules)
    for path in (path for problem in problems for path in problem.glob("*.py")):
        sys.modules.pop(path.stem, None)  # another problem's, of the same name
    folders = list(map(str, problems))
    sys.path[:0] = folders
    yield importlib.import_module
    for folder in folders:
        sys.path.remove(folder)
    for name in set(sys.modules) - set(before):
        if str(getattr(sys.modules[name], "__file__", "")).startswith(tuple(folders)):
            del sys.modules[name]
