"""The problem, and its modules that need no torch."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.vision_language_study import FOLDER

OWN = ("plans", "predict")


@pytest.fixture(scope="package", autouse=True)
def modules() -> Iterator[dict[str, ModuleType]]:
    """The scripts find each other in their own folder."""
    for name in OWN:
        sys.modules.pop(name, None)  # of another problem
    sys.path.insert(0, str(FOLDER))
    yield {name: importlib.import_module(name) for name in OWN}
    sys.path.remove(str(FOLDER))
    for name in OWN:
        sys.modules.pop(name, None)


@pytest.fixture(scope="package")
def problem() -> Problem:
    return find(ROOT / "problems", "11")
