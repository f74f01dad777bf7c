"""The time between tokens at lengths that the warm-up had met, and at lengths that were new."""

from collections.abc import Sequence

import polars as pl

from harness.analysis.metrics import of_rounds
from harness.analysis.serving import times_between
from harness.report.arguments import CaseName, VariantName
from harness.report.columns import DASH
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell
from harness.report.page import Page, not_measured

WARMED = 3
"""Times between tokens of the warm-up, whose requests make four tokens (``serving.short``)."""


def known_and_new_lengths(page: Page, variants: Sequence[VariantName], case: CaseName) -> Markdown:
    """Return a row per variant: a time between tokens at known lengths, and at new ones.

    Of each process the median over all requests; a variant that made no more tokens than the
    warm-up has none at new lengths.
    """
    rows = [
        [page.problem.variants[name].label, *map(_cell, found)]
        for name in variants
        if any(found := _by_process(page, name, case))
    ]
    head = ["variant", "lengths of the warm-up", "new lengths"]
    return table(head, rows, whole=True) if rows else not_measured(case)


def _cell(by_round: dict[int, list[float]]) -> str:
    return in_cell(of_rounds("ms", by_round)) if by_round else DASH


def _by_process(
    page: Page, variant: VariantName, case: CaseName
) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Return the median ms of each process at known and at new lengths, by round."""
    cells = page.tables["cells"].filter(
        (pl.col("variant") == variant) & (pl.col("case") == case) & (pl.col("capture") == "load")
    )
    found: tuple[dict[int, list[float]], dict[int, list[float]]] = ({}, {})
    is_new = pl.int_range(pl.len()).over("request") >= WARMED
    for cell, number in cells.select("cell", "round").iter_rows():
        tokens = page.tables["load_tokens"].filter(pl.col("cell") == cell).sort("time_ns")
        gaps = times_between(tokens).group_by(is_new.alias("is_new"))
        for new, ns in gaps.agg(pl.col("itl_ns").median()).iter_rows():
            found[new][number] = [ns / 1e6]
    return found
