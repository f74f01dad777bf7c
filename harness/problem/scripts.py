"""Which names the scripts of a problem can give: samples and facts they state, settings they read.

A script may put a name together, so a name counts as given if it stands there as text or as an
identifier, or if a formatted text of the script matches it and its parts stand there.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from harness.ground.errors import ManifestError

_LARGEST = 2 * 1024 * 1024
"""Bytes of a file that is looked through; a larger one holds data."""


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file; a name that no file system has is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


class _Words(NamedTuple):
    """Words, and patterns of formatted text; ``whole`` if all Python files could be read."""

    words: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    whole: bool


class Scripts:
    """The files that a problem's cells run and read."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._texts = [(path, _text(path)) for path in paths if path.stat().st_size <= _LARGEST]

    def name(self, wanted: str) -> bool:
        """Return whether some script can give this name, or whether that cannot be known."""
        quoted = (f'"{wanted}"', f"'{wanted}'")
        if not wanted:
            return False
        if any(mark in text for _, text in self._texts for mark in quoted):
            return True
        words, patterns, whole = self._words
        if not whole or wanted in words:
            return True
        parts = re.findall(r"[^\W_]+", wanted)
        known = self._parts
        return any(pattern.fullmatch(wanted) for pattern in patterns) and all(
            part in known or re.search(r"\d", part) for part in parts
        )

    def region(self, wanted: str) -> bool:
        """Return whether some script can measure a region of this name.

        Regions are named by sizes as well, in which any number may stand.
        """
        return bool(re.search(r"\d", wanted)) or self.name(wanted)

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(
            part for word in self._words.words for part in re.findall(r"[^\W_]+", word)
        )

    @cached_property
    def _words(self) -> _Words:
        words: set[str] = set()
        patterns: dict[str, None] = {}
        whole = True
        for path, text in self._texts:
            if path.suffix != ".py":
                words.update(re.findall(r"\w+", text))
                continue
            try:
                said, formatted = _of_python(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                whole = False
                continue
            words.update(said)
            patterns.update(dict.fromkeys(formatted))
        return _Words(frozenset(words), tuple(re.compile(each) for each in patterns), whole)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        what = f"not readable: {error.strerror}"
        raise ManifestError(what, where=path, remedy="let its readers read it") from error


@lru_cache(maxsize=256)
def _of_python(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words and patterns of a Python file: studies share files, and are read often."""
    nodes = list(ast.walk(ast.parse(text)))
    return frozenset(_said(nodes)), tuple(_formatted(nodes))


def _said(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the identifiers of a file and the words of its texts; comments and docstrings are not.

    A docstring, like any text that is a statement of its own, gives nothing.
    """
    loose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in loose:
                yield text
                yield from re.findall(r"\w+", text)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.FunctionDef(name=name):
                yield name


def _formatted(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield a pattern for each text that is put together of fixed parts and values."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            pattern = "".join(_pattern(part) for part in node.values)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            pattern = _pattern(node.left) + _pattern(node.right)
        else:
            continue
        if re.search(r"\w", pattern):
            yield pattern


def _pattern(node: ast.AST) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return re.escape(text) if isinstance(text, str) else ".+"
