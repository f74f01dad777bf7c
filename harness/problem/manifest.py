"""Reads a ``problem.yaml``; one error lists every mistake with its line."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from harness.errors import ManifestError, UsageError
from harness.problem.checks import mistakes_in
from harness.problem.model import Problem

MANIFEST = "problem.yaml"


def load(folder: Path) -> Problem:
    """Read and check the manifest in ``folder``; ManifestError lists every mistake by line."""
    path = folder / MANIFEST
    data, lines = _read(path)
    try:
        problem = Problem.model_validate(data)
    except ValidationError as error:
        places = [(_place(mistake["loc"]), mistake["msg"]) for mistake in error.errors()]
        mistakes = [(_line(lines, where), _dotted(where), _plain(what)) for where, what in places]
        raise _error(path, mistakes) from None
    problem.lie_in(folder)
    mistakes = [(_line(lines, where), _dotted(where), what) for where, what in mistakes_in(problem)]
    if mistakes:
        raise _error(path, mistakes)
    return problem


def find(problems: Path, wanted: str) -> Problem:
    """Return the problem that ``wanted`` names: its number, its folder's name or a path to it."""
    folders = sorted(path.parent for path in problems.glob(f"*/{MANIFEST}"))
    for folder in folders:
        if wanted in (folder.name, folder.name.split("-")[0]):
            return load(folder)
    if (Path(wanted) / MANIFEST).is_file():
        return load(Path(wanted))
    known = ", ".join(folder.name for folder in folders) or "none here"
    raise UsageError(f"no problem {wanted!r}", remedy=f"there are: {known}")


class _Lines(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys."""


def _read(path: Path) -> tuple[Any, dict[tuple[Any, ...], int]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"not readable: {error}", where=path) from error
    try:
        loader = _Lines(text)
        node = loader.get_single_node()
        lines: dict[tuple[Any, ...], int] = {}
        _walk(path, node, (), lines, depth=0)
        data = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ManifestError(f"{error.problem}", where=f"{path}{line}") from None
    except yaml.YAMLError as error:
        raise ManifestError(str(error), where=path) from None
    return data, lines


def _walk(
    path: Path, node: Any, at: tuple[Any, ...], lines: dict[tuple[Any, ...], int], depth: int
) -> None:
    """Note the line of every key and item; refuse a key that stands twice."""
    if depth > 20:
        raise ManifestError("nested too deeply", where=path)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*at, key.value)
            if here in lines:
                line = key.start_mark.line + 1
                raise ManifestError(
                    f"{_dotted(here)}: duplicate name, first on line {lines[here]}",
                    where=f"{path}, line {line}",
                    remedy="rename one of them",
                )
            lines[here] = key.start_mark.line + 1
            _walk(path, value, here, lines, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*at, index)] = item.start_mark.line + 1
            _walk(path, item, (*at, index), lines, depth + 1)


def _place(where: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a place as keys of the manifest: pydantic puts a claim's kind behind its index."""
    return (*where[:2], *where[3:]) if where[:1] == ("claims",) else where


def _line(lines: dict[tuple[Any, ...], int], where: tuple[Any, ...]) -> int:
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where, 1)


def _dotted(where: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in where) or "manifest"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace(
        "Extra inputs are not permitted", "no such key; see `harness schema` for those there are"
    )


def _error(path: Path, mistakes: list[tuple[int, str, str]]) -> ManifestError:
    text = "; ".join(f"line {line}: {key}: {what}" for line, key, what in sorted(mistakes))
    return ManifestError(text, where=path)
