"""The problem's folder, its modules that need no torch, and the interpreter that has torch."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.tensor_parallel import FOLDER

MODULES = ("ranks", "crossings", "model", "schedules")


@pytest.fixture(scope="package", autouse=True)
def modules() -> Iterator[dict[str, ModuleType]]:
    """The scripts find each other in their own folder."""
    sys.path.insert(0, str(FOLDER))
    yield {name: importlib.import_module(name) for name in MODULES}
    sys.path.remove(str(FOLDER))
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="package")
def problem() -> Problem:
    return find(ROOT / "problems", "7")
