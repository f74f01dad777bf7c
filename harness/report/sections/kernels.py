"""The kernels of a variant's step by GPU time, from a capture with a timeline."""

from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured


def kernels(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return the table of a variant's kernels by their time in a step."""
    from harness.analysis import step_parts
    from harness.analysis.kernels import family, short_names

    measured = step_parts.kernels(page.metrics, variant, case)
    if measured is None:
        return not_measured()
    names = short_names(measured.kernels["name"].to_list())
    rows = [
        [
            names[row["name"]],
            family(row["name"]),
            number(row["count"] / measured.steps),
            number(row["median_ns"] / 1e3),
            f"{100 * row['share']:.1f} %",
        ]
        for row in measured.kernels.iter_rows(named=True)
    ]
    return table(["kernel", "family", "launches per step", "median, µs", "share"], rows, 2)
