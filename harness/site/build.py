"""Builds the site with MkDocs: sources into a scratch folder, the site in one piece."""

import re
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

from harness.ground import files, process
from harness.ground.errors import ToolError
from harness.site import figures
from harness.site.terms import Places
from harness.site.tree import Tree
from harness.view import document, policy

_DEADLINE_S = 600
_FILES = Path(__file__).parent
MARK = "assets/vega.js"
"""A file of every site that this module built."""
_COMPLAINT = re.compile(r"^WARNING\s+-\s+(.*)$", re.MULTILINE)

Navigation = list[dict[str, Any]]
"""Title to page or to a list of the same; a page's path alone stands for its own title."""


class Sources(NamedTuple):
    """What a site is built of: its files, their order, and the terms that the hook links."""

    tree: Tree
    navigation: Navigation
    terms: Mapping[str, Places]


def check_installed() -> None:
    """Raise ToolError if MkDocs or its theme is not installed."""
    if not util.find_spec("material"):
        remedy = "pip install '.[site]', or make setup"
        raise ToolError("needs mkdocs-material, which is not installed", remedy=remedy)


def build(sources: Sources, site: Path) -> list[str]:
    """Write a site into the folder ``site``; return MkDocs' warnings.

    Raises ToolError if MkDocs fails.
    """
    with (
        tempfile.TemporaryDirectory(prefix="site-") as scratch,
        files.atomic_folder(site) as building,
    ):
        docs, log = Path(scratch) / "docs", Path(scratch) / "log"
        sources.tree.files |= _notices() | {
            "assets/roofline.css": document.style("roofline"),
            MARK: figures.vega(),
        }
        sources.tree.write(docs)
        config = Path(scratch) / "mkdocs.yml"
        config.write_text(_config(sources, docs, building.absolute()), encoding="utf-8")
        argv = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(config)]
        outcome = process.run(
            argv,
            cwd=Path(scratch),
            env=process.environment({"DISABLE_MKDOCS_2_WARNING": "true"}),
            log=log,
            deadline_s=_DEADLINE_S,
        )
        if outcome.status != "ok":
            raise ToolError(f"mkdocs: {outcome.detail or outcome.status}", where=site)
        return _COMPLAINT.findall(process.text(log))


def _notices() -> dict[str, Path | str]:
    """Return the licences of the software that the site copies, as files of the site."""
    return {
        f"licences/{package}.txt": Path(str(file.locate()))
        for package in ("mkdocs", "mkdocs-material")
        for file in metadata.files(package) or []
        if file.match("*.dist-info/**/LICENSE")
    }


def _config(sources: Sources, docs: Path, site: Path) -> str:
    """Return what differs from site to site, as YAML."""
    import yaml

    return yaml.safe_dump(
        {
            "INHERIT": str(_FILES / "mkdocs.yml"),
            "docs_dir": str(docs),
            "site_dir": str(site),
            "theme": {"custom_dir": str(_FILES / "theme")},
            "hooks": [str(_FILES / "hooks.py"), str(policy.__file__)],
            "extra": {"terms": dict(sources.terms)},
            "nav": sources.navigation,
        }
    )
