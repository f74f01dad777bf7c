"""What changed from one variant to another: the parts of a step, and the counters behind them."""

from dataclasses import replace

from harness.report import difference, step_difference
from harness.report.escape import Markdown
from harness.report.page import Page, not_measured
from harness.report.section_text import markdown


def changed(page: Page, a: str, b: str, case: str) -> Markdown:
    """Return the parts of a step that changed from variant ``a`` to ``b``, summing to the whole."""
    from harness.analysis import step

    diff = step.difference(page.metrics, a, b, case)
    if diff is None:
        return not_measured(f"{a} against {b}")
    labels = (page.problem.variants[variant].label for variant in (a, b))
    section = step_difference.gpu_time(diff, "the timeline", *labels)
    return markdown([replace(section, title="")])


def limits_changed(page: Page, a: str, b: str, case: str) -> Markdown:
    """Return the counters that explain a change of variant ``a`` to ``b``, kernel by kernel."""
    sides = [page.metrics.capture_with("counters", variant, case) for variant in (a, b)]
    if not sides[0] or not sides[1]:
        return not_measured(f"{a} against {b}")
    return markdown(difference.counters(sides[0], sides[1]), level=4)
