"""The hardware counters of a variant's profiled step: what limits each of its kernels."""

from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_HEAD = (
    "time, µs",
    "DRAM MB",
    "DRAM",
    "SM",
    "occupancy",
    "waves per SM",
)
_SCALES = {"time_ns": 1e-3, "dram_bytes": 1e-6}


def counters(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return the table of a variant's counters: a row a kernel, medians over its launches.

    Where each kernel is launched once, no column says so.
    """
    from harness.analysis import step_parts
    from harness.analysis.kernels import short_names

    kernels = step_parts.counters(page.metrics, variant, case)
    if kernels is None or kernels.is_empty():
        return not_measured()
    names = short_names(kernels["name"].to_list())
    counted = [] if kernels["launches"].eq(1).all() else ["launches"]
    rows = [
        [names[row["name"]], *(str(row[column]) for column in counted)]
        + [_cell(row[column], column) for column in step_parts.COUNTERS]
        for row in kernels.iter_rows(named=True)
    ]
    return table(["kernel", *counted, *_HEAD], rows)


def _cell(value: float | None, column: str) -> str:
    if value is None:
        return "–"
    if column.endswith("_pct"):
        return f"{value:.1f} %"
    return number(value * _SCALES.get(column, 1))
