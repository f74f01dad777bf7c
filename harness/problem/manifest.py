"""Reads a ``problem.yaml``; one error lists every mistake with its line."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from harness.ground.errors import ManifestError, UsageError
from harness.problem import located_yaml
from harness.problem.located_yaml import Located, Place, shown
from harness.problem.names import MANIFEST, nearest

if TYPE_CHECKING:
    from harness.problem.model import Problem

Read = TypeVar("Read", "Problem", "Outline")

_PLAIN = re.compile(r"[\w@.<-]{1,80}")
_MOST_FOUND = 1000
_MOST_TOLD = 50
_NUMBERED = re.compile(r"(\d+)-.")


@dataclass(frozen=True)
class Outline:
    """What a manifest lists, by name; whether what it says can be run is not checked."""

    number: int
    name: str
    title: str
    variants: list[str]
    cases: list[str]
    captures: list[str]
    claims: int


def outline(folder: Path) -> Outline:
    """Read what the manifest in ``folder`` lists, in a tenth of the time that :func:`load` takes.

    A manifest without these sections is loaded, and the ManifestError is that of :func:`load`.
    """
    said = located_yaml.read(folder / MANIFEST)
    number = _NUMBERED.match(folder.name)
    match said.data:
        case {
            "title": str(title),
            "variants": dict(variants),
            "cases": dict(cases),
            "captures": dict(captures),
            "claims": list(claims),
        } if number and not said.mistakes:
            lists = [*variants], [*cases], [*captures]
            return Outline(int(number[1]), folder.name, title, *lists, len(claims))
    load(folder)
    raise ManifestError("lists nothing", where=folder / MANIFEST, remedy="harness schema")


def load(folder: Path) -> "Problem":
    """Read and check the manifest in ``folder``; ManifestError lists every mistake by line."""
    from harness.problem import validation
    from harness.problem.checks import mistakes_in

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


def load_all(problems: Path) -> "tuple[list[Problem], list[ManifestError]]":
    """Return every problem that can be read, by number, and the errors of the others."""
    return _every(load, problems)


def outlines(problems: Path) -> tuple[list[Outline], list[ManifestError]]:
    """Return the outline of every problem that has one, by number, and the errors of the others."""
    return _every(outline, problems)


def _every(read: Callable[[Path], Read], problems: Path) -> tuple[list[Read], list[ManifestError]]:
    said, errors = [], []
    for folder in folders(problems):
        try:
            said.append(read(folder))
        except ManifestError as error:
            errors.append(error)
    return sorted(said, key=lambda problem: problem.number), errors


def find(problems: Path, wanted: str) -> "Problem":
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
    for at in (wanted, os.path.join(problems, wanted)):  # noqa: PTH118  # any text is a path
        if wanted and os.path.isdir(at):  # noqa: PTH112
            raise UsageError(f"no {MANIFEST} in this folder", where=at, remedy=remedy)
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
