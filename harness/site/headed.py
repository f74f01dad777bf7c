"""The head of a page that stands behind a worklog: its title, and whose page it is."""

from harness.report.escape import escape
from harness.report.page import Page
from harness.site.tree import WIDE


def head(study: Page, title: str) -> str:
    """Return the title and the link to the worklog, as Markdown that needs the page's width."""
    study_title = f"{study.problem.number} · {study.problem.title}"
    return (
        f"{WIDE}# {title}\n\n[{escape(study_title)}](README.md), on {escape(study.target.name)}\n\n"
    )
