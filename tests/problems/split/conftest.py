"""The problem, and those of its modules that need no torch."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.report import publish
from harness.report.page import Page
from tests.support.paths import ROOT
from tests.support.split_study import FOLDER


@pytest.fixture(scope="package")
def law() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("law")
    sys.path.remove(str(FOLDER))
    sys.modules.pop("law", None)


@pytest.fixture(scope="package")
def problem() -> Problem:
    return find(ROOT / "problems", "12")


@pytest.fixture(scope="package")
def report(problem: Problem) -> Page:
    """The committed report's evidence."""
    return publish.page_of(problem, ROOT / "reports" / FOLDER.name / "nvidia-h200")
