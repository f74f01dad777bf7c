"""Drawings: what was put where is what is seen, and all of it is legible at 400 pixels."""

import pytest

from harness.report.chart import BLUE, INK, ON_DARK
from harness.report.drawing import MOST_WIDE, Drawing
from tests.support import figures

PHONE = 400


def test_texts_lie_where_they_were_put() -> None:
    drawing = Drawing(200, 100)
    drawing.box((20, 10), (100, 30), BLUE, "in it")
    drawing.text((200, 80), "right", "right")
    inside, beside = figures.labels(drawing.svg())
    margin = inside.left + inside.right - 2 * 70  # of the figure, on both sides of the middle
    assert margin == pytest.approx(20, abs=1)
    assert beside.right == pytest.approx(210, abs=1)
    assert (inside.colour, beside.colour) == (ON_DARK, INK)


def test_a_text_without_room_in_its_box_is_left_out() -> None:
    drawing = Drawing(200, 100)
    drawing.box((0, 0), (20, 30), BLUE, "a long text")
    assert drawing.texts == [] and len(drawing.boxes) == 1


def test_an_arrow_ends_in_a_head_at_its_point() -> None:
    drawing = Drawing(200, 100)
    drawing.arrow((10, 20), (110, 20))
    shaft, *head = drawing.arrows
    assert [shaft[key] for key in ("x", "y", "x2", "y2")] == [10, 20, 110, 20]
    assert [(each["x2"], each["y2"]) for each in head] == [(110, 20)] * 2
    assert all(10 < each["x"] < 110 for each in head)
    assert sum(each["y"] for each in head) == 40 and head[0]["y"] != 20
    assert drawing.svg().count("<line ") == 3


def test_the_widest_drawing_is_legible_on_a_phone() -> None:
    drawing = Drawing(MOST_WIDE, 50)
    drawing.text((0, 10), "text")
    drawn = drawing.svg()
    wide, _ = figures.size(drawn)
    assert figures.labels(drawn)[0].size * PHONE / wide >= 12
    with pytest.raises(ValueError, match="441 pixels"):
        Drawing(MOST_WIDE + 1, 50)
