"""The highest rates of the GPUs that a run used, beside the datasheet's peaks."""

from typing import Any

from harness.evidence.tables import Tables
from harness.report.ceiling_table import ceiling_table
from harness.report.escape import Markdown, escape, table
from harness.report.page import Page, not_measured


def ceilings(page: Page) -> Markdown:
    """Return the ceilings of the GPUs that a run used, beside the datasheet's peaks."""
    by_gpu = _by_gpu(page.tables)
    if not by_gpu:
        return not_measured("Ceilings")
    shown = ceiling_table(page.target.name, by_gpu)
    cited = f"\n\n*Datasheet: {escape(shown.source)}.*" if shown.source else ""
    return Markdown(f"{table(shown.head, shown.rows)}{cited}")


def _by_gpu(tables: Tables) -> dict[str, dict[str, dict[str, Any]]]:
    """Return unit, value, low and high by GPU and ceiling."""
    rates: dict[str, dict[str, dict[str, Any]]] = {}
    for row in tables["ceilings"].iter_rows(named=True):
        rates.setdefault(row["gpu"], {})[row["name"]] = row
    return rates
