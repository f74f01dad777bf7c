"""Figures that others published, with their source: beside the measured ones, never among them."""

from harness.ground.errors import ManifestError
from harness.report.escape import Markdown, prose, table
from harness.report.page import Page


def reference(page: Page, name: str) -> Markdown:
    """Return the table of published figures that the manifest calls ``name``, and its source."""
    published = page.problem.references.get(name)
    if published is None:
        listed = ", ".join(page.problem.references) or "none"
        raise ManifestError(f"no reference {name!r}", remedy=f"the manifest has: {listed}")
    rows = [
        [f"{value:g}" if isinstance(value, float) else str(value or "–") for value in row]
        for row in published.rows
    ]
    source = prose(f"{published.source}. {published.gpu}; {published.software}.")
    return Markdown(f"{table(published.columns, rows)}\n\n*Published, not measured here: {source}*")
