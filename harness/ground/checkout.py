"""The checkout that the harness works in: case studies, runs, reports, what engines build from.

Installed apart from one, it works in the folder that it is started in, if that has studies.
"""

import os
from pathlib import Path

from harness.ground.errors import UsageError

VARIABLE = "WORKLOGS_CHECKOUT"
"""Environment variable that names the checkout where the harness is installed apart from it."""


def _root() -> Path:
    """Return the folder of the variable, else that of this file or of work that has problems."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    own = Path(__file__).parents[2]
    return next((at for at in (own, Path()) if (at / "problems").is_dir()), own)


CHECKOUT = _root().resolve()
"""The checkout's root; the functions of its folders check that it is one."""

_REMEDY = f"run it in a clone of the repository, or set {VARIABLE} to one"


def is_one() -> bool:
    """Return whether there is a checkout: a folder of case studies."""
    return (CHECKOUT / "problems").is_dir()


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
            remedy=_REMEDY,
        )
    return path


def _folder(name: str) -> Path:
    if not is_one():
        raise UsageError(
            "this command needs a problems folder, and there is none here",
            where=os.environ.get(VARIABLE) or Path.cwd(),
            remedy=_REMEDY,
        )
    return CHECKOUT / name
