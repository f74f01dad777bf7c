"""The figure of a load: a box a state of each request, on the scale of its time."""

import pytest

from harness.captures.load.kind import KIND
from harness.evidence.tables import empty
from harness.report.chart import Figure
from harness.report.sections.request_timeline import draw_load
from tests.support.serving import SAMPLE


def test_states_of_the_first_requests_are_drawn() -> None:
    tables = KIND.read(SAMPLE)
    figure = draw_load(tables, most=10)
    assert isinstance(figure, Figure)
    boxes = figure.specification["datasets"]["spans"]
    assert {box["row"] for box in boxes} == set(range(10))
    assert {"prefill", "decode"} <= {box["state"] for box in boxes}
    counted = tables["load_requests"].filter(tables["load_requests"]["mark"] != "warm-up")
    row = counted.row(3, named=True)  # the fourth row of the figure
    (decode,) = (box for box in boxes if box["row"] == 3 and box["state"] == "decode")
    assert decode["x"] == pytest.approx(row["first_ns"] / 1e9)
    assert decode["x2"] == pytest.approx(row["ended_ns"] / 1e9)
    assert "s from the start of the load" in figure
    assert f"10 of {tables['load_requests'].height} requests" in figure


def test_nothing_is_drawn_of_no_load() -> None:
    assert draw_load(None) is None
    assert draw_load({name: empty(name) for name in KIND.fills}) is None
