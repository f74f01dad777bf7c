"""What a capture says is shown in Markdown and never interpreted."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.report.escape import (
    Markdown,
    attribute,
    code,
    escape,
    finalize,
    link,
    listing,
    prose,
    table,
)

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


@pytest.mark.parametrize(
    "text",
    ["# a", "> a", "- a", "+ a", "1. a", "12) a", "---", "===", "    a", "\u3000a", "~~~", "a  "],
)
def test_a_text_at_the_start_of_a_line_makes_no_block_of_its_own(text: str) -> None:
    assert rendered(f"{escape(text)}\nb").startswith("<p>")
    assert rendered(f"{escape(text)}\nb").count("<") == 2
    assert rendered(f"*{escape(text)}: b*").startswith("<p><em>")


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("see https://example.org/x", "://"),
        ("www.example.org", "www."),
        ("WWW.example.org", "WWW."),
        ("mailto:a@example.org", "mailto:"),
        ("@someone did", "@"),
        ("closes #12 and o/r#12", "#1"),
        ("[^1] and $a$", "[^"),
    ],
)
def test_a_forge_makes_no_link_of_a_text(text: str, raw: str) -> None:
    assert raw in text
    assert raw not in escape(text).replace("&#", "")
    assert unescape(escape(text)) == text


def test_in_prose_code_alone_is_markdown() -> None:
    shown = rendered(prose("`a<b>` is *not* <b>bold</b>\nor [linked](x), 2× [1.9, 2.1] each"))
    assert shown == (
        "<p><code>a&lt;b&gt;</code> is *not* &lt;b&gt;bold&lt;/b&gt; or [linked](x),"
        " 2× [1.9, 2.1] each</p>\n"
    )


@pytest.mark.parametrize(
    "text", ["plain", "a`b", "``", "`", "a|b", " a ", "", "\\", "a\nb", *HOSTILE]
)
def test_code_is_one_element_also_in_a_table(text: str) -> None:
    shown = rendered(table(["a", "b"], [[code(text), "1"]]))
    assert (shown.count("<code>"), shown.count("<td")) == (1, 2)
    assert shown.count("<") == rendered(table(["a", "b"], [[code("x"), "1"]])).count("<")


@pytest.mark.parametrize("text", ["```", "````\n# a", "~~~", *HOSTILE])
def test_nothing_in_a_listing_ends_it(text: str) -> None:
    shown = rendered(f"{listing(text.splitlines(), 'text')}\n\nafter")
    assert shown.startswith('<pre><code class="language-text">')
    assert shown.endswith("</code></pre>\n<p>after</p>\n")
    assert shown.count("<") == 6


def test_a_link_leads_to_its_path_whatever_that_holds() -> None:
    assert link("a/b-1.2_c+d.zst", "L1-L2") == "a/b-1.2_c+d.zst#L1-L2"
    shown = rendered(f"[a]({link('javascript:x) <b> #?.md', 'a b')})")
    assert shown == '<p><a href="javascript%3Ax%29%20%3Cb%3E%20%23%3F.md#a%20b">a</a></p>\n'
    shown = attribute('x" |onerror="alert(1)')
    assert set(shown) & set('"| =<>`') == set()
    assert unescape(shown) == 'x" |onerror="alert(1)'


def test_markdown_passes_and_everything_else_is_escaped() -> None:
    assert finalize(Markdown("**a**")) == "**a**"
    assert finalize("**a**") == escape("**a**") != "**a**"
    assert finalize(3.5) == "3.5"
