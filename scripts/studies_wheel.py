"""Build the wheel of the studies: ``studies_wheel.py TREE OUT``, of the files that lie in TREE."""

import os
import shutil
import sys
from pathlib import Path

from flit_core import buildapi

from harness import __version__
from harness.ground.studies import DISTRIBUTION, PACKAGE, PARTS

PROJECT = f"""
[build-system]
requires = ["flit-core>=3.11,<4"]
build-backend = "flit_core.buildapi"

[project]
name = "{DISTRIBUTION}"
version = "{__version__}"
description = "The studies of profiling-worklogs: harness studies FOLDER copies them"
readme = "README.md"
license = "Apache-2.0"
requires-python = ">=3.11"
dependencies = ["profiling-worklogs[run]=={__version__}"]

[tool.flit.module]
name = "{PACKAGE}"
"""
README = """# The studies of profiling-worklogs

    pip install "profiling-worklogs[run,studies]"
    harness studies worklogs && cd worklogs
    harness run 1 --worklog
"""


def build(tree: Path, out: Path, work: Path) -> Path:
    """Build the wheel from a tree's folders into ``out``, in the empty folder ``work``."""
    package = work / PACKAGE
    for part in PARTS:
        shutil.copytree(tree / part, package / part)
    (package / "__init__.py").write_text('"""The studies, as data."""\n', encoding="utf-8")
    (work / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (work / "README.md").write_text(README, encoding="utf-8")
    shutil.copy2(tree / "LICENSE", work / "LICENSE")
    here = Path.cwd()
    os.chdir(work)
    try:
        return out / buildapi.build_wheel(str(out))
    finally:
        os.chdir(here)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(folder))
    print("release: built", built.name)
