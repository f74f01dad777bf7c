"""Colours: figures and their texts can be told from the card that they are drawn on."""

from pathlib import Path

import altair as alt
import pytest

from harness.report import chart, colours
from tests.support import chromium

FAMILIES = ["gemm", "elementwise", "triton: pointwise", "cast/copy", "sort/topk", "norm", "random"]


def test_contrast_is_that_of_the_web_guidelines() -> None:
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert colours.contrast("#ffffff", "#777777") == colours.contrast("#777777", "#ffffff")


@pytest.mark.parametrize("colour", [chart.INK, chart.FAINT, *chart.SERIES])
def test_texts_and_lines_are_legible_on_the_card(colour: str) -> None:
    assert colours.contrast(colour, chart.CARD) >= 4.5


@pytest.mark.parametrize("colour", [chart.INK, chart.FAINT, *chart.SERIES])
def test_they_are_legible_on_a_dark_card(colour: str) -> None:
    assert colours.contrast(chart.IN_DARK[colour], chart.IN_DARK[chart.CARD]) >= 4.5


def test_a_reader_who_prefers_dark_pages_sees_dark_figures_and_the_same_marks(
    tmp_path: Path,
) -> None:
    rows = [{"label": "one", "value": 1.0}]
    base = alt.Chart({"name": "rows"})
    bars = base.mark_bar(color=chart.BLUE).encode(x="value:Q", y="label:N")
    inside = bars.mark_text(color=colours.text_on(chart.BLUE)).encode(text="label:N")
    drawn = chart.svg(bars + inside, rows=rows)
    page = tmp_path / "figure.html"
    page.write_text(f"<html data-ready=1><body>{drawn}</body></html>", encoding="utf-8")
    with chromium.opened(page) as shown:
        for scheme, card, ink in (
            ("light", chart.CARD, chart.FAINT),
            ("dark", chart.IN_DARK[chart.CARD], chart.IN_DARK[chart.FAINT]),
        ):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            shown.send("Emulation.setEmulatedMedia", features=[feature])
            assert shown.evaluate(fill("svg > rect")) == rgb(card)
            assert shown.evaluate(fill(f'text[fill="{chart.FAINT}"]')) == rgb(ink)
            assert shown.evaluate(fill(f'path[fill="{chart.BLUE}"]')) == rgb(chart.BLUE)
            assert shown.evaluate(fill(f'text[fill="{chart.ON_DARK}"]')) == rgb(chart.ON_DARK)


def fill(selector: str) -> str:
    return f"getComputedStyle(document.querySelector('{selector}')).fill"


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


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
