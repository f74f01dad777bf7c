"""The harness's files as a graph of imports, wherever in a file an import stands."""

import ast
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

HARNESS = ROOT / "harness"
FILES = sorted(HARNESS.rglob("*.py"))
Graph = dict[str, frozenset[str]]


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the harness."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """Return the folder, or the top-level file, that holds a module: "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def imported_names(path: Path) -> Iterator[str]:
    """Yield every absolute name that a file imports: ``a.b.c`` of `from a.b import c`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def graph() -> Graph:
    """Return every module of the harness with the modules of the harness that it imports."""
    modules = {module_name(path): path for path in FILES}

    def module_of(name: str) -> str:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        return name

    def targets(path: Path) -> frozenset[str]:
        return frozenset(filter(None, map(module_of, imported_names(path))))

    return {name: targets(path) - {name} for name, path in modules.items()}


def reached(imports: Graph, start: str) -> dict[str, tuple[str, ...]]:
    """Return every module that `start` imports at any distance, with a shortest way to it."""
    ways: dict[str, tuple[str, ...]] = {}
    queue: deque[tuple[str, tuple[str, ...]]] = deque([(start, (start,))])
    while queue:
        module, way = queue.popleft()
        for target in sorted(imports[module] - ways.keys()):
            ways[target] = (*way, target)
            queue.append((target, ways[target]))
    return ways
