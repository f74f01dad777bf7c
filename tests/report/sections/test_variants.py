"""The table of a case: baseline first, unmeasured variants left out."""

from harness.problem.model import Problem
from harness.report.sections.variants import variants
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
