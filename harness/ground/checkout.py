"""The checkout that the harness works in: case studies, runs, reports, what engines build from."""

import os
from pathlib import Path

from harness.ground.errors import UsageError

VARIABLE = "WORKLOGS_CHECKOUT"
"""Environment variable that names the checkout where the harness is installed apart from it."""

CHECKOUT = Path(os.environ.get(VARIABLE) or Path(__file__).parents[2]).resolve()
"""The checkout's root; the functions of its folders check that it is one."""


def problems() -> Path:
    """Return the folder of the case studies; UsageError where there is no checkout."""
    return _folder("problems")


def runs() -> Path:
    """Return the folder of the runs, which may not exist yet; UsageError without a checkout."""
    return _folder("runs")


def nights() -> Path:
    """Return the folder of what a fleet's nights came to, which may not exist yet."""
    return _folder("nights")


def reports() -> Path:
    """Return the folder of the committed reports; UsageError where there is no checkout."""
    return _folder("reports")


def captures() -> Path:
    """Return the folder of the captures that reports keep outside git, by content."""
    return _folder(".captures")


def site() -> Path:
    """Return the folder of the site that ``harness browse`` serves."""
    return _folder(".site")


def lock(name: str) -> Path:
    """Return the lock file that an interpreter is installed from; UsageError if it is not here."""
    path = CHECKOUT / "requirements" / name
    if not path.is_file():
        raise UsageError(
            "this command needs the repository's lock files, and this one is not here",
            where=path,
            remedy=f"clone the repository, and run it there or set {VARIABLE} to the clone",
        )
    return path


def _folder(name: str) -> Path:
    if not (CHECKOUT / "problems").is_dir():
        raise UsageError(
            "this command needs a problems folder, and the harness is installed without one",
            where=CHECKOUT,
            remedy=f"clone the repository and run it there, or set {VARIABLE} to the clone",
        )
    return CHECKOUT / name
