"""The sections that a study brings: functions in ``sections.py``, or a package ``sections/``.

They are code of the study, as its ``repro.py`` is, and run where its reports are rendered. So they
are loaded from a study in this checkout's ``problems/`` alone, and never from what somebody sends.
"""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType

from harness.ground import checkout
from harness.ground.errors import ManifestError
from harness.report.sections import SECTIONS, Section

_NAME = "sections"


def known_to(study: Path) -> dict[str, Section]:
    """Return the sections that the templates of the study in this folder can ask for, by name.

    ManifestError where its own cannot be loaded, or have the name of one of the harness's.
    """
    own = _functions(study)
    twice = sorted(own.keys() & SECTIONS.keys())
    if twice:
        what = f"the harness has a section {twice[0]!r} as well"
        raise ManifestError(what, where=study / _NAME, remedy="give it another name")
    return {**SECTIONS, **own}


def load(study: Path) -> ModuleType:
    """Return the module of a study's own sections; ManifestError where it cannot be loaded.

    Its files import each other by names that begin with a dot.
    """
    package = "study" + re.sub(r"\W", "_", str(study))
    if package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(study)]
        sys.modules[package] = module
    try:
        return importlib.import_module(f"{package}.{_NAME}")
    except Exception as error:
        what = f"not loaded: {type(error).__name__}: {error}"
        raise ManifestError(what, where=study / _NAME) from error


def _functions(study: Path) -> dict[str, Section]:
    """Return the public functions that a study's own module defines, by name."""
    paths = [study / f"{_NAME}.py", study / _NAME / "__init__.py"]
    there = [path for path in paths if os.path.lexists(path)]
    if not there:
        return {}
    if any(path.is_symlink() for path in (study, study / _NAME, *there)):
        raise ManifestError("is a link", where=there[0], remedy="put the file itself there")
    if study.resolve().parent != (checkout.CHECKOUT / "problems").resolve():
        what = "is code, and only loaded from a study in problems/ of the checkout"
        raise ManifestError(what, where=there[0], remedy=f"move it to {checkout.CHECKOUT}/problems")
    module = load(study)
    return {
        name: function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and function.__module__.startswith(module.__name__)
    }
