"""What a capture says is shown in Markdown and never interpreted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.report.escape import Markdown, escape, finalize, table

HOSTILE = [
    "void kernel<float>(int*, T1)",
    "a|b|c",
    "`code` and ``more``",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "[link](javascript:alert(1))",
    "![image](https://example.org/x.png)",
    "**bold** _em_ ~~gone~~ # head",
    "line\nbreak\r\n| row |",
    "\x1b[31mred\x1b[0m\u202eright to left",
    "&lt;entity&gt; &amp;",
    "k" * 4000 + "<float>",
    "\ud800 lone",
]


def rendered(markdown: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_keeps_its_cell_and_makes_no_element(name: str) -> None:
    plain = rendered(table(["kernel", "n"], [["name", "1"]]))
    hostile = rendered(table(["kernel", "n"], [[name, "1"]]))
    for tag in ("<tr>", "<td", "<th", "<"):
        assert hostile.count(tag) == plain.count(tag), hostile
    assert "1</td>" in hostile


@given(st.text(max_size=40))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    import html
    import re

    shown = rendered(table(["a"], [[f"x{text}x"]]))
    cell = re.search(r"<td>(.*?)</td>", shown, re.DOTALL)
    assert cell
    readable = html.unescape(cell[1])
    expected = html.unescape(html.escape(f"x{text}x"))
    kept = [(a, b) for a, b in zip(expected, readable, strict=True) if b != "\ufffd"]
    assert all(a == b for a, b in kept)


def test_markdown_passes_and_everything_else_is_escaped() -> None:
    assert finalize(Markdown("**a**")) == "**a**"
    assert finalize("**a**") == escape("**a**") != "**a**"
    assert finalize(3.5) == "3.5"
