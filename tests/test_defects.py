"""The table of defects that the battery plants: it follows the code and the tests."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.defects import DEFECTS, Defect
from tests.support.paths import ROOT


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_can_be_planted(defect: Defect) -> None:
    assert (ROOT / defect.file).read_text(encoding="utf-8").count(defect.old) == 1
    file, _, name = defect.killer.partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")


def marks(file: str, test: str) -> Iterator[str]:
    """Yield what marks a test of a file: its decorators, and the marks of the whole file."""
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == test:
            yield from map(ast.unparse, node.decorator_list)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield ast.unparse(node.value)


def test_no_killer_is_slow() -> None:
    """The sabotage runs the fast lane."""
    slow = {
        defect.killer
        for defect in DEFECTS
        for mark in marks(*defect.killer.split("::"))
        if "mark.slow" in mark
    }
    assert slow == set()
