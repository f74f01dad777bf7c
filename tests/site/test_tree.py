"""The sources of the site: links between them hold, and others lead to a page or to nothing."""

from pathlib import Path

import pytest

from harness.site.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    checkout = tmp_path / "checkout"
    (checkout / "code").mkdir(parents=True)
    (checkout / "code" / "kernel.cu").write_text("one\ntwo ``` two\n")
    (checkout / "code" / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret.txt").write_text("secret")
    return Tree(checkout, pages={"docs/b.md": "# B"}, made={"made.md": "# Made"})


def adapted(tree: Tree, tmp_path: Path, text: str) -> str:
    tree.pages["docs/a.md"] = text
    tree.write(tmp_path / "out")
    return (tmp_path / "out" / "docs" / "a.md").read_text().rstrip("\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[b](b.md#x) and [m](../made.md)", "[b](b.md#x) and [m](../made.md)"),
        ("[web](https://example.org/a.md)", "[web](https://example.org/a.md)"),
        ("[here](#there)", "[here](#there)"),
        ("[code](../code/kernel.cu#L2)", "[code](../code/kernel.cu.md#__codelineno-0-2)"),
        ("[code](../code/kernel.cu#L1-L2)", "[code](../code/kernel.cu.md#__codelineno-0-1)"),
        ("[folder](../code)", "folder"),
        ("[binary](../code/binary)", "binary"),
        ("[out](../../secret.txt)", "out"),
        ("[none](none.md)", "none"),
        ("[two\nlines](none.md)", "two\nlines"),
        ("[two\n\nparagraphs](none.md)", "[two\n\nparagraphs](none.md)"),
        ("```\n[none](none.md)\n```", "```\n[none](none.md)\n```"),
        ('<a href="../x/README.md#y">', '<a href="../x/index.html#y">'),
        ("<details>", '<details markdown="1">'),
        ("Text:\n- item\n- item", "Text:\n\n- item\n- item"),
        ("Text:\n| a |", "Text:\n\n| a |"),
    ],
)
def test_a_line_as_the_site_has_it(tree: Tree, tmp_path: Path, text: str, shown: str) -> None:
    assert adapted(tree, tmp_path, text) == shown


def test_a_linked_file_gets_a_page_that_nothing_in_it_ends(tree: Tree, tmp_path: Path) -> None:
    adapted(tree, tmp_path, "[code](../code/kernel.cu)")
    page = (tmp_path / "out" / "code" / "kernel.cu.md").read_text()
    head, title, text = page.partition("# ")
    assert head == "---\nsearch: {exclude: true}\n---\n\n"
    assert title + text == '# `code/kernel.cu`\n\n````cuda linenums="1"\none\ntwo ``` two\n````\n'
