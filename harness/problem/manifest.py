"""Reads a ``problem.yaml``; one error lists every mistake with its line."""

import os
import re
from itertools import islice
from pathlib import Path

from harness.ground.errors import ManifestError, UsageError
from harness.problem import located_yaml, validation
from harness.problem.checks import mistakes_in
from harness.problem.located_yaml import Located, Place, shown
from harness.problem.model import Problem
from harness.problem.names import nearest

MANIFEST = "problem.yaml"

_PLAIN = re.compile(r"[\w@.<-]{1,80}")
_MOST_FOUND = 1000
_MOST_TOLD = 50


def load(folder: Path) -> Problem:
    """Read and check the manifest in ``folder``; ManifestError lists every mistake by line."""
    path = folder / MANIFEST
    said = located_yaml.read(path)
    understood = validation.understood(said)
    problem, mistakes = understood.problem, understood.mistakes
    if problem is not None:
        problem.lie_in(folder)
        for where, what in islice(mistakes_in(problem, understood.names), _MOST_FOUND):
            mistakes.add(understood.place(where), what)
    if mistakes or problem is None:
        raise _error(path, said, mistakes.by_place)
    return problem


def folders(problems: Path) -> list[Path]:
    """Return the folders that hold a manifest, readable or not, in order of their names."""
    return sorted(path.parent for path in problems.glob(f"*/{MANIFEST}"))


def load_all(problems: Path) -> tuple[list[Problem], list[ManifestError]]:
    """Return every problem that can be read, by number, and the errors of the others."""
    read, errors = [], []
    for folder in folders(problems):
        try:
            read.append(load(folder))
        except ManifestError as error:
            errors.append(error)
    return sorted(read, key=lambda problem: problem.number), errors


def find(problems: Path, wanted: str) -> Problem:
    """Return the problem that ``wanted`` names: its folder's name, its number or a path to it.

    Raises UsageError if there is none, or if several have that number.
    """
    here = folders(problems)
    named = [folder for folder in here if folder.name == wanted]
    numbered = [folder for folder in here if folder.name.split("-")[0] == wanted]
    if len(numbered) > 1 and not named:
        both = " and ".join(folder.name for folder in numbered)
        raise UsageError(
            f"problem {wanted!r} is both {both}",
            where=problems,
            remedy="give the name of the folder, and rename one of them",
        )
    for folder in [*named, *numbered]:
        return load(folder)
    if os.path.isfile(os.path.join(wanted, MANIFEST)):  # noqa: PTH113, PTH118  # any text is a path
        return load(Path(os.path.abspath(wanted)))  # noqa: PTH100  # "." has a name, links stay
    names = [folder.name for folder in here]
    remedy = nearest(wanted, names) if names else "there are none here: harness new writes one"
    raise UsageError(f"no problem {shown(wanted)}", remedy=remedy)


def _error(path: Path, said: Located, mistakes: dict[Place, str]) -> ManifestError:
    """Return the error that lists each mistake with its line and key, by line.

    What stands in one place is told once, however many aliases repeat it.
    """
    repeated: dict[tuple[object, ...], str] = {}
    for where, what in mistakes.items():
        line, column = said.mark(where)
        repeated.setdefault(
            (line, column, where[-1:], what), f"line {line}: {_dotted(where)}: {what}"
        )
    by_line = [repeated[key] for key in sorted(repeated, key=lambda key: (key[:2], repeated[key]))]
    told = by_line[:_MOST_TOLD]
    if len(by_line) > len(told):
        told.append("and more of that kind")
    return ManifestError("; ".join(told), where=path)


def _dotted(where: Place) -> str:
    parts = [str(part) for part in where]
    plain = [part if _PLAIN.fullmatch(part) else shown(part) for part in parts]
    return ".".join(plain) or "manifest"
