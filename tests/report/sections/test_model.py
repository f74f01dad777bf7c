"""A model's values beside the measured ones."""

from harness.problem.model import Problem
from harness.report.sections.model import model_table
from tests.support.pages import rows_of, timed_page


def test_a_model_stands_beside_what_was_measured(example: Problem) -> None:
    shown = timed_page(example, slow=4.0)
    points = [("slow", "small", 5.0), ("fast", "small", 1.0)]
    assert rows_of(model_table(shown, "time", points))[1:] == [
        ["Slow", "small", "4 ms", "5", "0.800"],
        ["Fast", "small", "–", "1", "–"],
    ]
