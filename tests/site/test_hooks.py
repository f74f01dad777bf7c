"""The hook of MkDocs: words and findings become links, once a page, and nothing else changes."""

from types import SimpleNamespace

import pytest

from harness.site import hooks

TERMS = {
    "words": {"PDL": ['a kernel starts "early" & so on', "docs/glossary.html#concepts"]},
    "codes": {"wall_time": ["host time", "docs/glossary.html#samples"]},
    "findings": {"leak": ["Memory is never freed.", "pages/leak.html"]},
}
PDL = (
    '<a class="term" href="../docs/glossary.html#concepts"'
    ' title="a kernel starts &quot;early&quot; &amp; so on">PDL</a>'
)
WALL = '<a class="term" href="../docs/glossary.html#samples" title="host time">wall_time</a>'
LEAK = '<a class="term" href="../pages/leak.html" title="Memory is never freed.">leak</a>'


def shown(html: str, path: str = "pages/a") -> str:
    page = SimpleNamespace(
        url=f"{path}.html", file=SimpleNamespace(src_uri=f"{path}.md", dest_uri=f"{path}.html")
    )
    return hooks.on_page_content(html, page=page, config=SimpleNamespace(extra={"terms": TERMS}))


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ("<p>PDL, PDL and PDLs</p>", f"<p>{PDL}, PDL and PDLs</p>"),
        ("<p>wall_time is <code>wall_time</code></p>", f"<p>wall_time is <code>{WALL}</code></p>"),
        ("<p>a leak, <strong>leak</strong></p>", f"<p>a leak, <strong>{LEAK}</strong></p>"),
        (
            "<p><code>leak</code> <strong>leak</strong></p>",
            f"<p><code>{LEAK}</code> <strong>leak</strong></p>",
        ),
        ("<p>x<br>PDL<img src='y'></p>", f"<p>x<br>{PDL}<img src='y'></p>"),
    ],
)
def test_a_first_mention_is_linked(html: str, linked: str) -> None:
    assert shown(html) == linked


@pytest.mark.parametrize(
    "html",
    [
        "<h2>PDL</h2><pre><code>wall_time</code></pre><a href='x'>PDL</a>",
        "<p>&lt;b&gt; &#60;b&#62; &amp;amp; <!-- PDL --> <br/></p>",
        "<p><code>x PDL</code></p><svg><text>PDL</text></svg>",
        "<table><thead><tr><th>PDL</th></tr></thead></table>",
    ],
)
def test_the_rest_is_as_it_was(html: str) -> None:
    assert shown(html) == html


def test_a_page_does_not_lead_to_itself() -> None:
    assert shown("<strong>leak</strong>", "pages/leak") == "<strong>leak</strong>"
    assert shown("<p>PDL</p>", "docs/glossary") == "<p>PDL</p>"
