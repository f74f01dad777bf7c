"""The scripts and data files of a problem's folder, and those of other folders that they use."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from harness.problem.scripts import is_file

_KINDS = ("py", "cu", "cuh", "cpp", "json")
_OF_PAGES = ("sections", "sections.py")
"""What of a problem's folder only pages use, and no cell (harness/report/own_sections.py)."""


def of(folder: Path) -> list[Path]:
    """Return the files that cells of the problem in ``folder`` run and read."""
    paths = [path for kind in _KINDS for path in sorted(folder.glob(f"**/*.{kind}"))]
    own = [path for path in paths if path.relative_to(folder).parts[0] not in _OF_PAGES]
    return [path for path in own if is_file(path)]


def used(scripts: Iterable[Path], folders: Sequence[Path]) -> dict[str, Path]:
    """Return the files of other problems' ``folders`` that ``scripts`` use, as FOLDER/FILE.

    A Python file counts if a script, or a file that counts, imports it. It also counts, as a JSON
    or C++ file does, if one of them has its name in a text, to start, read or compile it. Which
    kernels a file compiles it may put together, so all count.
    """
    if not folders:  # most problems need none, and to parse their scripts takes a while
        return {}
    files = {path: folder for folder in folders for path in of(folder)}
    found: dict[Path, None] = {}
    left = [*scripts, *(path for path in files if path.suffix in (".cu", ".cuh"))]
    while left:
        user = left.pop()
        if user in found:
            continue
        if user in files:
            found[user] = None
        named = _named(user) if user.suffix == ".py" else frozenset()
        left += [path for path in files if path not in found and _is_named(path, files, named)]
    chosen = [path for path in files if path in found]
    return {
        f"{files[path].name}/{path.relative_to(files[path]).as_posix()}": path for path in chosen
    }


def _is_named(path: Path, files: dict[Path, Path], named: frozenset[str] | None) -> bool:
    """Return whether a file is among those ``named``; None: any may be."""
    return named is None or path.name in named or str(path.relative_to(files[path])) in named


def _named(script: Path) -> frozenset[str] | None:
    """Return the files that a Python file imports, and its texts, which may be names of files.

    None if it cannot be read.
    """
    try:
        return _named_in(script.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=256)
def _named_in(content: bytes) -> frozenset[str]:
    """Return the same of a file's content: a problem's scripts are asked for several times."""
    nodes = list(ast.walk(ast.parse(content)))
    return frozenset(name for node in nodes for name in _names(node))


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield from _files_of(alias.name)
        case ast.ImportFrom(module=module, names=names):
            for alias in names:
                yield from _files_of(f"{module}.{alias.name}" if module else alias.name)
        case ast.Constant(value=str(text)):
            yield text.rpartition("/")[2]


def _files_of(module: str) -> Iterator[str]:
    """Yield the files that a module and the packages around it may be."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        path = "/".join(parts[:count])
        yield from (f"{path}.py", f"{path}/__init__.py")
