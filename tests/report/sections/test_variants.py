"""The table of a case: baseline first, unmeasured variants left out."""

from harness.problem.model import Problem
from harness.report.sections.variants import variant_bars, variants
from tests.support.pages import rows_of, timed_page


def test_the_baseline_comes_first_and_the_unmeasured_are_left_out(example: Problem) -> None:
    backwards = dict(reversed(example.variants.items()))
    problem = example.model_copy(update={"variants": backwards})
    shown = variants(timed_page(problem, fast=1.0, slow=4.0), "small", ["time"], ratio="time")
    assert rows_of(shown) == [
        ["variant", "time", "time over the first row's"],
        ["Slow", "4 ms", "1×"],
        ["Fast", "1 ms", "0.25×"],
    ]
    assert rows_of(variants(timed_page(problem, slow=4.0), "small", ["time"]))[1:] == [
        ["Slow", "4 ms"]
    ]
    nothing = variants(timed_page(problem), "small", ["time"])
    assert nothing == "*Not measured on this target.*"


def test_bars_are_in_the_order_asked_for_with_the_baseline_as_a_line(example: Problem) -> None:
    page = timed_page(example, fast=1.0, slow=4.0)
    shown = variant_bars(page, "ladder", "time", "small", ["slow", "fast"], "caption")
    assert shown == "![time, small](figures/ladder.svg)\n\n*caption*"
    drawn = page.figures["ladder.svg"]
    assert drawn.index(">Slow<") < drawn.index(">Fast<")
    assert "Slow: 4" in drawn
    alone = timed_page(example, fast=1.0)
    variant_bars(alone, "ladder", "time", "small", ["slow", "fast"], "caption")
    assert ">Slow<" not in alone.figures["ladder.svg"]
    none = variant_bars(timed_page(example), "ladder", "time", "small", ["slow"], "caption")
    assert none == "*time, small: not measured on this target.*"
