"""What changed from one variant to another: the parts of a step."""

from dataclasses import replace

from harness.report import step_difference
from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown
from harness.report.page import Page, not_measured
from harness.report.section_text import markdown


def changed(page: Page, a: VariantName, b: VariantName, case: CaseName) -> Markdown:
    """Return the parts of a step that changed from variant ``a`` to ``b``, summing to the whole."""
    from harness.analysis import step_parts

    diff = step_parts.difference(page.metrics, a, b, case)
    if diff is None:
        return not_measured(f"{a} against {b}")
    labels = (page.problem.variants[variant].label for variant in (a, b))
    section = step_difference.gpu_time(diff, "the timeline", *labels)
    return markdown([replace(section, title="")])
