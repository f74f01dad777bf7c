"""A part of a page that is folded away until a reader opens it."""

from collections.abc import Callable

from harness.report.escape import Markdown, escape
from harness.report.page import Page


def details(page: Page, summary: str, caller: Callable[[], str]) -> Markdown:  # noqa: ARG001 - every section is given the page
    """Return a call block's body under ``summary``, closed: ``{% call w.details("…") %}``."""
    shown = summary if isinstance(summary, Markdown) else escape(summary)
    body = caller().strip("\n")
    return Markdown(f"<details>\n<summary>{shown}</summary>\n\n{body}\n\n</details>\n")
