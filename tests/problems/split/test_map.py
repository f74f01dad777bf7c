"""The map of ways: its parts by hand, and what the committed report's evidence makes of them."""

import ast
import importlib
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from harness.problem.model import Problem
from harness.report.page import Page
from tests.support.split_study import FOLDER, SECTIONS, part

FLAT = [(1e3, 10.0), (1e9, 10.0)]
"""A collective that takes 10 µs whatever its size."""


@pytest.fixture(scope="module")
def forecast() -> ModuleType:
    return part("forecast")


@pytest.fixture(scope="module")
def sizes() -> Any:
    """Two ranks, two layers: 768 + 768 weights in products and 32 in norms a layer, of 2 bytes."""
    law = importlib.import_module(f"{SECTIONS.__name__.rpartition('.')[0]}.law")
    return law.Sizes(ranks=2, layers=2, tokens=0, width=16, kv_width=8, hidden=16, element=2)


@pytest.fixture(scope="module")
def small(forecast: ModuleType, sizes: Any) -> Any:
    """Per ms 1000 bytes, 10 000 FLOP of products and 8192 of attention; 0.5 ms a layer fixed."""
    rates = forecast.Rates(memory=1e3, products=1e4, attention=8192.0, fixed=0.5)
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send", "one-shot")
    tables = dict.fromkeys(kinds, FLAT)
    held = dict.fromkeys(forecast.PREFILLS, 20e3)
    return forecast.Forecast(sizes, rates, tables, tables, forecast.Point(64, 1), held, 40e3)


def test_a_decode_takes_the_time_of_its_bytes(forecast: ModuleType, small: Any) -> None:
    one = forecast.Point(1, 1, context=10)
    # 2 layers of 1568 weights, and 10 tokens' 8 keys and 8 values, of 2 bytes at 1 byte a µs
    assert small.own_ms("whole", one) == pytest.approx(1 + 6.272 + 0.640)
    assert small.own_ms("tensor", one) == pytest.approx(1 + 3.136 + 0.320)
    assert small.ms("tensor", one) == pytest.approx(4.456 + 4 * 0.010)


def test_a_long_prefill_takes_the_time_of_its_flop(forecast: ModuleType, small: Any) -> None:
    long = forecast.Point(64, 1)
    products = 2 * 2 * 1536 * 64 / 1e4
    attention = 2 * 4 * 64 * 64 / 2 * 16 / 8192  # queries by keys, and by values; half of both
    assert small.own_ms("whole", long) == pytest.approx(1 + products + attention)
    halved = 1 + (products + attention) / 2
    assert small.ms("sequence", long) == pytest.approx(halved + 8 * 0.010)
    assert small.ms("sequence-async", long) == pytest.approx(halved + 0.010)  # the first gather
    assert small.ms("ulysses", long) == pytest.approx(halved + 4 * 0.010)
    assert small.ms("ring", long) == pytest.approx(halved)  # hidden behind attention
    assert small.fastest(long) == ["tensor", "sequence", "sequence-async", "ring", "ulysses"]


def test_a_ring_reads_all_weights(forecast: ModuleType, small: Any) -> None:
    short = forecast.Point(2, 1)
    assert small.own_ms("ring", short) - small.own_ms("tensor", short) == pytest.approx(3.136)


def test_what_does_not_fit_is_no_candidate(forecast: ModuleType, small: Any) -> None:
    # whole: 6272 + 13 728 bytes at 64 tokens, so 40 000 are full at 157; half the weights: 140
    assert small.fits("whole", forecast.Point(157, 1))
    assert not small.fits("whole", forecast.Point(158, 1))
    assert not small.fits("tensor", forecast.Point(141, 1))
    assert small.fastest(forecast.Point(1000, 1)) == []


@pytest.mark.parametrize("way", ["tensor", "sequence", "sequence-async", "ring", "ulysses"])
def test_collectives_send_what_the_law_says(forecast: ModuleType, sizes: Any, way: str) -> None:
    law = importlib.import_module(f"{SECTIONS.__name__.rpartition('.')[0]}.law")
    for ranks in (2, 4):
        of = replace(sizes, ranks=ranks, tokens=64)
        told = sum(law.sent(kind, size, ranks) for kind, size in forecast.collectives(way, of))
        known = "tensor" if way.startswith("sequence") else way
        assert told * of.layers == pytest.approx(law.forward_bytes(known, of))


def test_rates_are_those_that_made_the_steps(forecast: ModuleType, small: Any) -> None:
    point = forecast.Point
    steps = [point(1, 1, 10), point(1, 4, 10), point(64, 1)]
    whole = {at: small.own_ms("whole", at) for at in steps}
    attention_ms = 2 * 64**2 * 16 / 2 / 8192  # a layer's, of half the heads
    found = forecast.rates(small.of, whole, attention_ms, point(64, 1))
    for name in ("memory", "products", "attention", "fixed"):
        assert getattr(found, name) == pytest.approx(getattr(small.rates, name))
    same = dict.fromkeys(steps, 7.0)
    assert forecast.rates(small.of, same, attention_ms, point(64, 1)) is None
    assert forecast.rates(small.of, whole, 100.0, point(64, 1)) is None  # attention alone is longer


def test_another_rate_of_memory_leaves_the_decode_it_was_taken_from(
    forecast: ModuleType, small: Any
) -> None:
    few = forecast.Point(1, 1, context=10)
    other = replace(small, rates=small.rates.with_memory(900.0, small.of, few))
    assert other.own_ms("whole", few) == pytest.approx(small.own_ms("whole", few))
    assert other.own_ms("tensor", few) < small.own_ms("tensor", few)  # less of it is fixed


def test_a_tie_reaches_three_percent_up(forecast: ModuleType) -> None:
    assert forecast.leading({"a": 103.0, "b": 100.0, "c": 103.1}) == ["a", "b"]
    assert forecast.leading({}) == []


def test_shapes_are_those_of_the_model() -> None:
    tree = ast.parse((FOLDER / "model.py").read_text(encoding="utf-8"))
    (told,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHAPES"
    )
    assert isinstance(told, ast.Dict)
    for key, value in zip(told.keys, told.values, strict=True):
        assert isinstance(value, ast.Call)
        name = ast.literal_eval(ast.unparse(key)) if key else ""
        if name in part("inputs").SHAPES:
            width, heads, kv_heads, hidden = map(ast.literal_eval, value.args)
            assert part("inputs").SHAPES[name] == (width, kv_heads * width // heads, hidden)


def test_the_committed_report_has_a_map_with_what_was_measured(report: Page) -> None:
    told = SECTIONS.ways_map(report, "ways", "in-turn", "llama")
    assert "figures/ways.svg" in told
    drawn = report.figures["ways.svg"]
    data = drawn.specification["datasets"]  # type: ignore[attr-defined]
    measured = {place(dot) for dot in data["dots"]}
    assert measured == {(0, 0), (0, 6), (7, 0)}  # decodes of 1 and 64, 32768 tokens of one
    assert {place(letter) for letter in data["letters"]} >= measured


def place(mark: dict[str, float]) -> tuple[int, int]:
    """Return column and row of a mark; a quarter of a cell parts decodes from prefills."""
    return int(mark["x"] - 0.25), int(mark["y"])


def test_every_measured_step_is_in_the_table(report: Page, problem: Problem) -> None:
    told = SECTIONS.ways_map_errors(report, "in-turn", "llama")
    works = problem.cases["llama"].params["works"]
    steps = [f"`{name}-by-{way}`" for name, work in works.items() for way in work["ways"]]
    missing = [step for step in steps if step not in told]
    assert missing == ["`prefill-by-ring-torch`"]
    assert told.count("| 1.000× |") >= 3  # one GPU's steps, which gave the rates


def test_without_attention_s_sweep_there_is_no_map(report: Page) -> None:
    class Without:
        def get(self, metric: str, *place: str) -> Any:
            found = report.metrics.get(metric, *place)
            return replace(found, value=None) if metric.startswith("ulysses_") else found

    lacking = replace(report, metrics=Without(), figures={})  # type: ignore[arg-type]
    assert "not measured" in SECTIONS.ways_map(lacking, "ways", "in-turn", "llama")
    assert "not measured" in SECTIONS.ways_map_errors(lacking, "in-turn", "llama")
    assert lacking.figures == {}
