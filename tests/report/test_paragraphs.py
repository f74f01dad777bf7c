"""Pages as they are read without a renderer; what Markdown makes of them stays the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.report.worklog import joined
from tests.support.paths import ROOT

REPORTS = sorted((ROOT / "reports").glob("*/nvidia-h200/**/*.md"))


@pytest.mark.parametrize(
    ("page", "read"),
    [
        ("One.\n Two.\n Three.\n", "One. Two. Three.\n"),
        ("One.\n\n\n\nTwo.\n", "One.\n\nTwo.\n"),
        ("- one\n two\n", "- one two\n"),
        ("| a |\n| - |\n text\n", "| a |\n| - |\n text\n"),
        ("# One\n Two.\n", "# One\n Two.\n"),
        ("```text\n a\n\n\n b\n```\n c\n", "```text\n a\n\n\n b\n```\n c\n"),
        ("~~~\n```\n a\n b\n~~~\nOne.\n Two.\n", "~~~\n```\n a\n b\n~~~\nOne. Two.\n"),
        ("One.\n    code\n", "One.\n    code\n"),
    ],
)
def test_sentences_of_a_paragraph_stand_on_its_line(page: str, read: str) -> None:
    assert joined(page) == read
    assert joined(read) == read


@given(st.lists(st.sampled_from(["One.", " Two.", "", "```", "~~~", "- a", "| a |", "# A", "  b"])))
def test_a_page_renders_to_the_same_words(lines: list[str]) -> None:
    page = "\n".join(lines)
    assert rendered(joined(page)) == rendered(page)


def rendered(page: str) -> list[str]:
    """Return the words and tags of the HTML, whatever stands between them."""
    html: str = MarkdownIt("commonmark").enable("table").render(page)
    return html.split()


def test_committed_pages_begin_no_line_with_a_lost_space() -> None:
    assert REPORTS
    for path in REPORTS:
        page = path.read_text(encoding="utf-8")
        assert joined(page) == page, path
