"""The kernels of a variant's step by GPU time, from a capture with a timeline."""

from typing import TYPE_CHECKING, NamedTuple

from harness.captures import registry
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

if TYPE_CHECKING:
    import polars as pl


class StepKernels(NamedTuple):
    """The kernel table of the measured region, its number of steps, the kind of its capture."""

    kernels: "pl.DataFrame"
    steps: int
    kind: str


def kernels(page: Page, variant: str, case: str) -> Markdown:
    """Return the table of a variant's kernels by their time in a step."""
    rows = kernel_rows(page, variant, case)
    head = ["kernel", "family", "launches a step", "median, µs", "share"]
    return table(head, rows, 2) if rows else not_measured()


def kernel_rows(page: Page, variant: str, case: str) -> list[list[str]]:
    """Return kernel, family, launches a step, median time and share, most time first."""
    from harness.analysis.kernels import family, short_names

    step = step_kernels(page, variant, case)
    if step is None:
        return []
    names = short_names(step.kernels["name"].to_list())
    return [
        [
            names[row["name"]],
            family(row["name"]),
            number(row["count"] / step.steps),
            number(row["median_ns"] / 1e3),
            f"{100 * row['share']:.1f} %",
        ]
        for row in step.kernels.iter_rows(named=True)
    ]


def step_kernels(page: Page, variant: str, case: str) -> StepKernels | None:
    """Return the kernels of the cheapest timeline that holds GPU work of the measured region."""
    from harness.analysis import derived, timeline

    for kind in registry.filling("gpu_ops"):
        tables = page.metrics.capture_of(kind, variant, case)
        if tables is None or tables["gpu_ops"].is_empty():
            continue
        name = derived.region(tables)
        if name is None:
            continue
        ops, calls, ranges = (tables[key] for key in ("gpu_ops", "api_calls", "ranges"))
        inside = timeline.gpu_ops_in_ranges(ops, calls, ranges, name)
        if not inside.is_empty():
            steps = timeline.steps(ranges, name).height
            return StepKernels(timeline.kernel_table(inside), steps, kind)
    return None
