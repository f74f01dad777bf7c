"""The problem, and its modules that need no torch."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.serving_study import FOLDER

OWN = ("gaps", "law", "loads", "pool_size")
SHARED = ("workloads.engine.options", "workloads.engine.schedule")


@pytest.fixture(scope="package", autouse=True)
def modules() -> Iterator[dict[str, ModuleType]]:
    """The scripts find each other in their own folder, and the shared workloads."""
    folders = [str(FOLDER), str(ROOT / "problems")]
    sys.path[:0] = folders
    yield {name: importlib.import_module(name) for name in (*OWN, *SHARED)}
    for folder in folders:
        sys.path.remove(folder)
    for name in OWN:
        sys.modules.pop(name, None)


@pytest.fixture(scope="package")
def problem() -> Problem:
    return find(ROOT / "problems", "9")
