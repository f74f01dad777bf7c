"""Colours: figures and their texts can be told from the card that they are drawn on."""

import pytest

from harness.report import chart, colours

FAMILIES = ["gemm", "elementwise", "triton: pointwise", "cast/copy", "sort/topk", "norm", "random"]


def test_contrast_is_that_of_the_web_guidelines() -> None:
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert colours.contrast("#ffffff", "#777777") == colours.contrast("#777777", "#ffffff")


@pytest.mark.parametrize("colour", [chart.INK, chart.FAINT, *chart.SERIES])
def test_texts_and_lines_are_legible_on_the_card(colour: str) -> None:
    assert colours.contrast(colour, chart.CARD) >= 4.5


def test_families_of_one_figure_differ_and_keep_their_colour_elsewhere() -> None:
    chosen = colours.of_families(FAMILIES)
    assert len(set(chosen.values())) == len(FAMILIES)
    assert colours.of_families(["gemm"])["gemm"] == chosen["gemm"]
    for colour in chosen.values():
        assert colours.contrast(colour, chart.CARD) >= 1.9
        assert colours.contrast(colours.text_on(colour), colour) >= 4.4


def test_lighter_goes_to_white() -> None:
    assert colours.lighter("#204060", 0) == "#204060"
    assert colours.lighter("#204060", 1) == "#ffffff"
    assert colours.lighter("#204060", 0.5) == "#90a0b0"
