"""What the pages that stand behind a worklog share: their head, and how their templates render."""

from pathlib import Path
from typing import Any

from harness.report.escape import escape
from harness.report.page import Page
from harness.site.tree import WIDE


def head(study: Page, title: str) -> str:
    """Return the title and the link to the worklog, as Markdown that needs the page's width."""
    study_title = f"{study.problem.number} · {study.problem.title}"
    return (
        f"{WIDE}# {title}\n\n[{escape(study_title)}](README.md), on {escape(study.target.name)}\n\n"
    )


def rendered(name: str, **values: Any) -> str:
    """Return a template of this folder with its values, as HTML without blank lines.

    Whatever it prints is text unless it is markup already.
    """
    import jinja2

    source = (Path(__file__).parent / name).read_text(encoding="utf-8")
    made = jinja2.Environment(autoescape=True).from_string(source).render(**values)
    return "\n".join(line for line in made.splitlines() if line.strip())
