"""The folders of other problems that a problem's cells see, beside its own as on the host."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.ground.errors import ManifestError
from harness.problem import located_yaml
from harness.problem.located_yaml import shown
from harness.problem.names import MANIFEST, nearest
from harness.problem.scripts import is_file

FOLDER = re.compile(r"(0|[1-9][0-9]{0,5})-[a-z0-9-]{1,60}")
"""The name of a problem's folder."""


@dataclass(frozen=True)
class Needed:
    """Folders, and what is wrong with an entry of ``needs_problems``, by its index."""

    folders: tuple[Path, ...] = ()
    mistakes: tuple[tuple[int, str], ...] = ()


def needed(folder: Path, names: Sequence[str]) -> Needed:
    """Return the folders that the problem in ``folder`` needs, with those that these need."""
    if not names:
        return Needed()
    own = folder.resolve()
    search = _Search(own.parent)
    found = [(index, search.add(name, (own.name,))) for index, name in enumerate(names)]
    return Needed(tuple(search.folders), tuple(each for each in found if each[1]))


class _Search:
    """The needed ones of the folders in ``problems``."""

    def __init__(self, problems: Path) -> None:
        self._problems = problems
        self.folders: dict[Path, None] = {}

    def add(self, name: str, way: tuple[str, ...]) -> str:
        """Add a folder and those that it needs; return the mistake, "" if there is none.

        ``way``: the problems that led here, of which each needs the next.
        """
        folder = self._problems / name
        of = "" if len(way) == 1 else f"{way[-1]}: "
        if not FOLDER.fullmatch(name):
            remedy = "give the name of one that stands beside this, such as 4-custom-hgemm"
            return f"{of}{shown(name)} is no problem's folder ({remedy})"
        if way == (name,):
            return "is this problem itself (leave it out)"
        if name in way:
            return f"leads in a circle: {' needs '.join((*way, name))} (leave one out)"
        if not is_file(folder / MANIFEST):
            others = {path.parent.name for path in self._problems.glob(f"*/{MANIFEST}")}
            remedy = nearest(name, sorted(others - {way[0]}))
            return f"{of}no problem {shown(name)} beside this one ({remedy})"
        try:
            further = () if folder in self.folders else _needs(folder)
        except ManifestError:
            return f"{of}the manifest of {name} is no YAML (harness lint {name} says where)"
        mistakes = (self.add(each, (*way, name)) for each in further)
        if mistake := next(filter(None, mistakes), ""):
            return mistake
        self.folders[folder] = None
        return ""


def _needs(folder: Path) -> list[str]:
    """Return the names under ``needs_problems`` of the manifest in ``folder``."""
    match located_yaml.read(folder / MANIFEST).data:
        case {"needs_problems": list(names)}:
            return [name for name in names if isinstance(name, str)]
    return []
