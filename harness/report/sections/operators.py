"""The torch operators of a variant's step by the GPU time of the kernels that they launch."""

from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_MOST_OPERATORS = 8


def operators(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return the table of a variant's operators by the GPU time of their own kernels."""
    from harness.analysis import step_parts

    top = step_parts.operators(page.metrics, variant, case, _MOST_OPERATORS)
    if top is None or top.is_empty():
        return not_measured()
    rows = [
        [name, number(count), number(host_us), "–" if gpu_us is None else number(gpu_us)]
        for name, count, host_us, gpu_us in top.iter_rows()
    ]
    return table(["operator", "calls per step", "host, µs per step", "GPU, µs per step"], rows)
