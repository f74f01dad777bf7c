"""The hardware counters of a variant's profiled step: what limits each of its kernels."""

from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_COLUMNS = {
    "time_ns": "time, µs",
    "dram_bytes": "DRAM MB",
    "dram_pct": "DRAM",
    "sm_pct": "SM",
    "occupancy_pct": "occupancy",
    "waves": "waves per SM",
}
_SCALES = {"time_ns": 1e-3, "dram_bytes": 1e-6}


def counters(page: Page, variant: str, case: str) -> Markdown:
    """Return the table of a variant's counters, a row a kernel."""
    rows = counter_rows(page, variant, case)
    return table(["kernel", "launches", *_COLUMNS.values()], rows) if rows else not_measured()


def counter_rows(page: Page, variant: str, case: str) -> list[list[str]]:
    """Return one row a kernel name of a profiled step, medians over its launches."""
    import polars as pl

    from harness.analysis.counters import per_kernel
    from harness.analysis.kernels import short_names

    tables = page.metrics.capture_with("counters", variant, case)
    if tables is None:
        return []
    kernels = (
        per_kernel(tables["counters"])
        .group_by("name", maintain_order=True)
        .agg(pl.len().alias("launches"), *(pl.col(column).median() for column in _COLUMNS))
    )
    names = short_names(kernels["name"].to_list())
    return [
        [names[row["name"]], str(row["launches"])]
        + [_cell(row[column], _SCALES.get(column, 1), column) for column in _COLUMNS]
        for row in kernels.iter_rows(named=True)
    ]


def _cell(value: float | None, scale: float, column: str) -> str:
    if value is None:
        return "–"
    return f"{value * scale:.1f} %" if column.endswith("_pct") else number(value * scale)
