"""Every committed figure: legible type on its card, no text on another, none cut off."""

from pathlib import Path

import pytest

from harness.report import chart, colours
from tests.support import figures
from tests.support.reports import COMMITTED

PAGE_WIDTH = 760
"""Pixels that a page of a forge gives to a figure; a wider one is shrunk, and its type with it."""

FIGURES = [
    pytest.param(path, id=f"{folder.parent.name}-{path.stem}")
    for folder in COMMITTED
    for path in sorted(folder.glob("figures/*.svg"))
]


def test_there_are_committed_figures() -> None:
    assert FIGURES


@pytest.mark.parametrize("path", FIGURES)
def test_no_text_lies_on_another_or_is_cut_off(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    assert figures.overlapping(svg) == []
    width, height = figures.size(svg)
    for label in figures.labels(svg):
        about = 0.1 * max(label.right - label.left, label.bottom - label.top)
        assert label.left >= -about and label.top >= -about, label
        assert label.right <= width + about and label.bottom <= height + about, label


@pytest.mark.parametrize("path", FIGURES)
def test_type_is_legible_at_page_width_on_light_and_dark_pages(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    width, height = figures.size(svg)
    assert f'<rect width="{width:g}" height="{height:g}" fill="{chart.CARD}"' in svg
    shrunk = min(1.0, PAGE_WIDTH / width)
    filled = set(figures.fills(svg)) - {chart.CARD}
    on_marks = (chart.CARD, chart.ON_DARK)
    for label in figures.labels(svg):
        assert label.size * shrunk >= 12, label
        behind = sorted(filled) if label.colour in on_marks else [chart.CARD]
        best = max(colours.contrast(label.colour, colour) for colour in behind)
        assert best >= 4.3, label
