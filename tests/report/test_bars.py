"""Bars: their lengths from 0, their lines and labels, and that no text lies on another."""

import re
from pathlib import Path

import pytest

from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import bars, chart
from tests.support import figures
from tests.support.manifests import GOOD, written
from tests.support.pages import page, timed_page
from tests.support.small_evidence import ceiling, cell, samples, tables

ENTRIES = {
    metric: [
        bars.Bar("Slow", metric, "slow", "small", baseline=True),
        bars.Bar("Fast", metric, "fast", "small", baseline=False),
    ]
    for metric in ("time", "rate")
}


def row(label: str, value: float, **other: object) -> dict[str, object]:
    ends = {"low": value * 0.99, "high": value * 1.01}
    return {"label": label, "value": value, "shown": f"{value}", "baseline": False} | ends | other


def line(label: str, value: float, *, baseline: bool = False) -> dict[str, object]:
    return {"label": label, "value": value, "shown": label, "baseline": baseline}


def lengths(svg: str) -> list[float]:
    """Return the length of each bar in pixels, from the top."""
    paths = re.findall(
        r'<path aria-label="[^"]*" role="graphics-symbol" [^>]*"bar" d="([^"]*)"', svg
    )
    return [max(float(x) for x in re.findall(r"h(-?[\d.]+)", path)) for path in paths]


def test_a_bar_twice_as_long_is_twice_the_value() -> None:
    first, second, third = lengths(bars.draw([row("a", 40), row("b", 20), row("c", 10)], [], "t"))
    assert first == pytest.approx(2 * second)
    assert first == pytest.approx(4 * third)


def test_few_bars_far_longer_than_the_others_are_cut_and_keep_their_value() -> None:
    rows = [row(f"v{place}", 1.0 + place / 10) for place in range(6)] + [row("far", 90.0)]
    svg = bars.draw(rows, [], "time, ms")
    drawn = lengths(svg)
    assert drawn[0] == pytest.approx(drawn[5] / 1.5)
    assert 1 < drawn[-1] / drawn[5] < 1.5
    texts = [label.text for label in figures.labels(svg)]
    assert "90.0" in texts
    assert texts.count("//") == 1
    assert any(text.endswith("(// longer than drawn)") for text in texts)


def test_where_many_are_long_none_is_cut() -> None:
    svg = bars.draw([row("a", 1), row("b", 2), row("c", 90), row("d", 80)], [], "time, ms")
    assert "//" not in [label.text for label in figures.labels(svg)]
    assert lengths(svg)[0] == pytest.approx(lengths(svg)[2] / 90)


def test_the_longest_bar_leaves_room_for_its_text() -> None:
    svg = bars.draw([row("a", 12_345.6), row("b", 9_000)], [], "time")
    assert figures.size(svg)[0] <= 720
    text = next(label for label in figures.labels(svg) if label.text == "12345.6")
    assert text.right <= figures.size(svg)[0]


def test_lines_that_lie_close_have_their_labels_above_each_other() -> None:
    lines = [
        line("torch.mm: 784", 784, baseline=True),
        line("highest measured here: 810", 810),
        line("datasheet: 989", 989),
        line("a low one: 20", 20),
    ]
    svg = bars.draw([row("a", 784, baseline=True), row("b", 795)], lines, "rate")
    assert figures.overlapping(svg) == []
    tops = {label.text: label.top for label in figures.labels(svg)}
    shown = [tops[str(entry["shown"])] for entry in lines]
    assert len({round(top) for top in shown}) == len(lines)
    assert max(shown) < min(top for text, top in tops.items() if text in ("a", "b"))


def test_the_baseline_has_its_colour_as_bar_and_as_line() -> None:
    rows = [row("a", 5, baseline=True), row("b", 9)]
    svg = bars.draw(rows, [line("a: 5", 5, baseline=True)], "time")
    filled = re.findall(r'"bar" d="[^"]*" fill="([^"]*)"', svg)
    assert filled == [chart.ORANGE, chart.BLUE]
    assert f'stroke="{chart.ORANGE}"' in svg


def test_rows_with_long_labels_are_apart() -> None:
    names = [f"a variant whose label is long, number {n}, and goes on" for n in range(6)]
    svg = bars.draw([row(name, 3.0) for name in names], [], "time, ms")
    assert figures.overlapping(svg) == []
    lines = [label for label in figures.labels(svg) if "variant" in label.text]
    assert len(lines) == len(names)
    assert figures.size(svg)[0] <= 720


@pytest.mark.parametrize(
    "rows",
    [
        [row("one value", 2.0, low=2.0, high=2.0)],
        [row("nothing", 0.0)],
        [row("an interval below zero", 2.0, low=-4.0, high=8.0)],
    ],
)
def test_unusual_values_are_drawn(rows: list[dict[str, object]]) -> None:
    svg = bars.draw(rows, [], "time, ms")
    assert "NaN" not in svg
    assert "Infinity" not in svg


def test_a_rate_is_drawn_with_what_the_gpu_reaches_at_most(tmp_path: Path) -> None:
    rate = "  rate: {label: rate, unit: TFLOP/s, capture: timing, sample: rate}\nclaims:"
    problem = manifest.load(written(tmp_path, GOOD.replace("claims:", rate)))
    timed = [*samples(cell("slow"), "rate", 700.0), *samples(cell("fast"), "rate", 400.0)]
    reached = [ceiling("GPU-1", "bf16", 790.0), ceiling("GPU-2", "bf16", 801.0)]
    evidence = tables(cells=[cell("slow"), cell("fast")], samples=timed, ceilings=reached)
    drawn = bars.draw_bars(page(problem, evidence, "NVIDIA H200"), "rate", ENTRIES["rate"], "bf16")
    texts = [label.text for label in figures.labels(drawn or "")]
    assert "highest measured here: 801" in texts
    assert any(text.startswith("datasheet: 98") for text in texts)


def test_entries_that_were_not_measured_have_no_bar(example: Problem) -> None:
    assert bars.draw_bars(timed_page(example), "time", ENTRIES["time"]) is None
    drawn = bars.draw_bars(timed_page(example, slow=4.0), "time", ENTRIES["time"])
    texts = [label.text for label in figures.labels(drawn or "")]
    assert "4000" in texts  # milliseconds are shown as microseconds
    assert "time, µs" in texts
    assert "Fast" not in texts
