"""The studies as a wheel of their own, for who has no clone: copied whole into a folder.

``scripts/studies_wheel.py`` makes the wheel. A cell's script imports ``harness.probe`` from the
folder that it runs in, so the installed package is copied beside the studies.
"""

import importlib.metadata
import importlib.util
import shutil
from pathlib import Path

import harness
from harness.ground import files
from harness.ground.errors import UsageError

PACKAGE, DISTRIBUTION = "profiling_worklogs_studies", "profiling-worklogs-studies"
PARTS = ("problems", "requirements", "docker")
"""The folders of the repository that the wheel holds."""


def copy(folder: Path) -> None:
    """Fill a new folder with the studies and what runs them.

    Raises UsageError if no studies of this version are installed, or the folder holds something.
    """
    source = _installed()
    taken = UsageError("is there already", where=folder, remedy="name a folder to make")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise taken

    def fill(target: Path) -> None:
        for part in PARTS:
            shutil.copytree(source / part, target / part)
        code = Path(harness.__file__).parent
        shutil.copytree(code, target / "harness", ignore=shutil.ignore_patterns("__pycache__"))

    if not files.filled_folder(folder.resolve(), fill):
        raise taken


def _installed() -> Path:
    """Return the folder of the installed studies; UsageError without those of this version."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise UsageError(
            "the studies are not installed",
            where=DISTRIBUTION,
            remedy="work in a clone of the repository, which has them",
        )
    version = importlib.metadata.version(DISTRIBUTION)
    if version != harness.__version__:
        raise UsageError(
            f"version {version} is installed, and the harness is {harness.__version__}",
            where=DISTRIBUTION,
            remedy=f"pip install {DISTRIBUTION}=={harness.__version__}",
        )
    return Path(spec.origin).parent
