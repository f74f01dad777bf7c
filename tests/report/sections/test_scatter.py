"""A scatter of a cell's regions: where each point lies, its colour, the line of the baseline."""

import math
import re
from pathlib import Path

import pytest

from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.sections import scatter
from tests.support import figures
from tests.support.manifests import GOOD, written
from tests.support.pages import page
from tests.support.small_evidence import Row, cell, samples, tables

PLACE = ("fast", "small")
METRICS = (
    "  rate: {label: of the library, unit: '%', capture: timing, sample: rate, better: higher}\n"
    "  work: {label: operations, unit: FLOP, capture: timing, fact: work}\nclaims:"
)
POINTS = {"a": (1e6, 50.0, "even"), "b": (1e8, 100.0, "odd"), "c": (1e10, 200.0, "even")}
POINT = re.compile(r'"point" transform="translate\(([\d.]+),([\d.]+)\)"')


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return manifest.load(written(tmp_path, GOOD.replace("claims:", METRICS)))


def shown(problem: Problem, points: dict[str, tuple[float, float, str]]) -> Page:
    rows: list[Row] = []
    facts: list[Row] = []
    for region, (work, rate, kind) in points.items():
        rows += [{**row, "region": region} for row in samples(cell("fast"), "rate", rate, rate)]
        about = {"cell": cell("fast")["cell"], "unit": ""}
        facts.append(about | {"name": f"work.{region}", "value": work})
        facts.append(about | {"name": f"kind.{region}", "text": kind})
    rows += [{**row, "region": "all"} for row in samples(cell("fast"), "rate", 9.0)]
    return page(problem, tables(cells=[cell("fast")], samples=rows, facts=facts))


def test_points_lie_by_the_logarithm_of_both_and_groups_are_left_out(problem: Problem) -> None:
    made = shown(problem, POINTS)
    text = scatter.scatter(made, "f", "rate", "work", PLACE, "kind", "A caption.", level=100)
    assert text == "![of the library over operations](figures/f.svg)\n\n*A caption.*"
    svg = made.figures["f.svg"]
    points = sorted((float(x), float(y)) for x, y in POINT.findall(svg))
    assert len(points) == len(POINTS)  # "all" states no kind
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.1)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.1)  # 50, 100, 200
    assert y0 > y1 > y2
    rule = re.search(r"translate\(510,([\d.]+)\)[^>]*stroke-dasharray", svg)
    assert rule
    assert float(rule[1]) == pytest.approx(y1, abs=0.1)


def test_each_kind_has_a_colour_that_the_legend_names(problem: Problem) -> None:
    svg = scatter.draw_scatter(shown(problem, POINTS), "rate", "work", PLACE, "kind", None) or ""
    texts = {label.text for label in figures.labels(svg)}
    assert {"even", "odd", "operations, FLOP", "of the library, %"} <= texts
    colours = re.findall(r'"point" transform="[^"]+" d="[^"]+" fill="(#\w+)"', svg)
    assert len(set(colours)) == 2
    assert figures.overlapping(svg) == []
    assert figures.size(svg)[0] <= 720


def test_one_point_is_drawn_and_none_is_said(problem: Problem) -> None:
    one = shown(problem, {"a": POINTS["a"]})
    svg = scatter.draw_scatter(one, "rate", "work", PLACE, "kind", 100.0)
    assert svg
    assert not math.isnan(float(POINT.findall(svg)[0][0]))
    assert scatter.draw_scatter(shown(problem, {}), "rate", "work", PLACE, "kind", None) is None
