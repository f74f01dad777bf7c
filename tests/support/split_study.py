"""Where problem 12 lies, and the sections that it brings."""

import importlib
from statistics import median
from types import ModuleType

from harness.report import own_sections
from harness.report.page import Page
from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "12-split-a-model"
SECTIONS = own_sections.load(FOLDER)


def by_process(report: Page, metric: str, case: str) -> list[float]:
    """Return the median of a metric in each process, all ways in turn."""
    return [median(each) for each in report.metrics.samples(metric, "in-turn", case).values()]


def part(name: str) -> ModuleType:
    """Return a module of the sections by its name."""
    return importlib.import_module(f"{SECTIONS.__name__}.{name}")
