"""The torch operators of a variant's step by the GPU time of the kernels that they launch."""

from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_MOST_OPERATORS = 8


def operators(page: Page, variant: str, case: str) -> Markdown:
    """Return the table of a variant's operators by the GPU time of their own kernels."""
    rows = operator_rows(page, variant, case)
    head = ["operator", "calls a step", "host, µs a step", "GPU, µs a step"]
    return table(head, rows) if rows else not_measured()


def operator_rows(page: Page, variant: str, case: str) -> list[list[str]]:
    """Return operator, calls, inclusive host time and own GPU time a step, most GPU time first."""
    import polars as pl

    from harness.analysis import derived, timeline

    tables = page.metrics.capture_with("operators", variant, case)
    region = None if tables is None else derived.region(tables)
    if tables is None or region is None:
        return []
    steps = timeline.steps(tables["ranges"], region).height
    by = ["device_ns", "total_ns"]
    top = tables["operators"].sort(by, descending=True, nulls_last=True).head(_MOST_OPERATORS)
    if top["device_ns"].null_count() < top.height:
        top = top.filter(pl.col("device_ns") > 0)
    return [
        [
            row["name"],
            number(row["count"] / steps),
            number(row["total_ns"] / steps / 1e3),
            "–" if row["device_ns"] is None else number(row["device_ns"] / steps / 1e3),
        ]
        for row in top.iter_rows(named=True)
    ]
