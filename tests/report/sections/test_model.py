"""A model's values beside the measured ones, as a table and as a figure."""

import re

from harness.problem.model import Problem
from harness.report.sections.model import model, model_table
from tests.support.pages import rows_of, timed_page


def test_a_model_stands_beside_what_was_measured(example: Problem) -> None:
    shown = timed_page(example, slow=4.0)
    points = [("slow", "small", 5.0), ("fast", "small", 1.0)]
    assert rows_of(model_table(shown, "time", points))[1:] == [
        ["Slow", "small", "4 ms", "5", "0.800"],
        ["Fast", "small", "–", "1", "–"],
    ]
    assert "figures/m.svg" in model(shown, "m", "time", points, "c")
    assert len(re.findall('aria-roledescription="bar"', shown.figures["m.svg"])) == 1
