"""Strips: a dot a sample where its value lies, and the bound or the way to it."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from harness.analysis.measured import Measured
from harness.site import strips

MEASURED = Measured("ms", 2.0, 1.8, 2.3, rounds=2, samples=5)
ROWS = strips.by_process({1: [1.9, 2.0, 2.1], 0: [2.2, 2.4]})
NONE = (float("-inf"), float("inf"))


def parts(bound: tuple[float, float] = NONE) -> ElementTree.Element:
    return parsed(strips.svg(ROWS, "ms", [("median", MEASURED)], bound))


def parsed(figure: str) -> ElementTree.Element:
    return ElementTree.fromstring(figure)  # noqa: S314 - our own


def of_class(figure: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [part for part in figure.iter() if name in str(part.get("class", "")).split()]


def starts(path: ElementTree.Element) -> list[float]:
    return [float(x) for x in re.findall(r"M([\d.]+) ", str(path.get("d")))]


def test_each_process_has_its_samples_in_the_order_of_processes() -> None:
    first, second = map(starts, (of_class(parts(), "dots")))
    assert [part.text for part in of_class(parts(), "row")] == ["median", "process 1", "process 2"]
    assert (len(first), len(second)) == (2, 3)
    every = dict(zip([2.2, 2.4, 1.9, 2.0, 2.1], first + second, strict=True))
    low, high = every[1.9], every[2.4]
    for value, x in every.items():
        assert x == pytest.approx(low + (value - 1.9) / 0.5 * (high - low), abs=0.2)


def test_the_interval_reaches_from_its_low_end_to_its_high_one() -> None:
    (interval,) = of_class(parts(), "interval")
    (value,) = of_class(parts(), "value")
    low, high = (float(x) for x in re.findall(r"[MH]([\d.]+)", str(interval.get("d"))))
    at = float(str(value.get("cx")))
    assert (high - at) / (at - low) == pytest.approx((2.3 - 2.0) / (2.0 - 1.8), abs=0.1)


def test_a_bound_close_by_is_a_line_and_one_far_off_an_arrow() -> None:
    close = parts((2.5, float("inf")))
    assert len(of_class(close, "limit")) == len(of_class(close, "allowed")) == 1
    far = parts((float("-inf"), 50.0))
    assert not of_class(far, "limit")
    assert [part.text for part in of_class(far, "far")] == ["▶ bound 50"]
    assert not of_class(parts(), "allowed")


def test_a_label_stays_text() -> None:
    figure = strips.svg([("<b>x</b> & y", [1.0, 2.0])], "<i>", [], NONE)
    texts = [part.text for part in parsed(figure).iter() if part.text]
    assert "<b>x</b> & y" in texts
    assert "<i>" in texts


def test_a_long_label_keeps_both_its_ends() -> None:
    figure = parsed(strips.svg([("eight 4096² linears, M = 16", [1.0, 2.0])], "", [], NONE))
    (label,) = [str(part.text) for part in of_class(figure, "row")]
    assert len(label) == 21
    assert label.startswith("eight 4…")
    assert label.endswith("M = 16")


def test_nothing_is_drawn_of_nothing() -> None:
    assert strips.svg([], "ms", [("median", Measured("ms", why="not run"))], NONE) == ""
