"""The page of the probe's API says what its docstrings say, on a screen or two."""

import ast

from tests.support.probe_page import PAGE, SOURCE, methods, page


def test_the_page_is_made_of_the_docstrings() -> None:
    why = "write the page anew: python -m tests.support.probe_page"
    assert PAGE.read_text(encoding="utf-8") == page(), why


def test_every_public_method_is_on_the_page_and_they_are_few() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    (cell,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Cell")
    names = [method.name for method in methods(cell)]
    text = PAGE.read_text(encoding="utf-8")
    assert all(f".{name}(" in text for name in names)
    assert 5 < len(names) <= 15
    assert len(text.splitlines()) <= 120
