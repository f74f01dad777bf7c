"""Where problem 12 lies, and the sections that it brings."""

import importlib
from types import ModuleType

from harness.report import own_sections
from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "12-split-a-model"
SECTIONS = own_sections.load(FOLDER)


def part(name: str) -> ModuleType:
    """Return a module of the sections by its name."""
    return importlib.import_module(f"{SECTIONS.__name__}.{name}")
