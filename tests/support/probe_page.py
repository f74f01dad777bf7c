"""The page of the probe's API, made of its docstrings: ``python -m tests.support.probe_page``."""

import ast
from collections.abc import Iterator
from textwrap import dedent

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "probe.md"
SOURCE = ROOT / "harness" / "probe" / "cell.py"
_HEAD = """\
# What a workload calls

`repro.py` talks to the harness through one object, the [`Cell`](../harness/probe/cell.py). Its
docstrings make this page (`python -m tests.support.probe_page`), and a test holds the two together.

```python
from harness.probe.cell import Cell

cell = Cell.load()
with cell.phase("load"):
    model, x = build(cell.params, cell.device)
cell.fact("weights", count(model), "weights")
cell.measure("forward", lambda: model(x))
cell.finish()
```
"""


def page() -> str:
    """Return the page as the docstrings now have it."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    (cell,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Cell")
    parts = [_HEAD, _prose(cell), *_attributes(cell)]
    for method in methods(cell):
        parts += [f"## `{_signature(method)}`", _prose(method)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def methods(cell: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the public methods of a class, in order."""
    for node in cell.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def _attributes(cell: ast.ClassDef) -> Iterator[str]:
    """Yield a list of the public attributes with their types."""
    (init,) = (
        node for node in cell.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    known = [
        f"- `cell.{node.target.attr}`: `{ast.unparse(node.annotation)}`"
        for node in ast.walk(init)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Attribute)
        and not node.target.attr.startswith("_")
    ]
    yield "\n".join(known)


def _signature(method: ast.FunctionDef) -> str:
    """Return how a method is called, with the types of its arguments."""
    arguments = ast.unparse(method.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    owner = (
        "Cell"
        if any(ast.unparse(each) == "classmethod" for each in method.decorator_list)
        else "cell"
    )
    return f"{owner}.{method.name}({arguments})"


def _prose(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return a docstring as Markdown."""
    return dedent(ast.get_docstring(node) or "").replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
