"""Partitioned evidence against the plain filters that it stands for, on evidence made by chance."""

import itertools
import random

import polars as pl
import pytest

from harness.analysis.cell_tables import CellTables
from harness.evidence import tables as evidence
from tests.support.small_evidence import Row, cell, tables

VARIANTS, CAPTURES, ROUNDS = ("slow", "fast"), ("timing", "ncu"), (0, 1, 2)
REGIONS, METRICS = (None, "m1", "m2"), ("wall_time", "gpu_time")


@pytest.fixture(scope="module")
def whole() -> evidence.Tables:
    draw = random.Random(5)
    cells = [
        cell(variant, number, capture, status=draw.choice(["ok", "ok", "failed"]), reason="killed")
        for variant, number, capture in itertools.product(VARIANTS, ROUNDS, CAPTURES)
    ]
    cells = draw.sample(cells, len(cells) - 1)
    samples: list[Row] = [
        {"cell": of["cell"], "region": region, "metric": metric, "index": index}
        | {"value": draw.random(), "mark": draw.choice(["", "", "outlier", "warm-up", None])}
        for of, region, metric in itertools.product(cells, REGIONS, METRICS)
        for index in draw.sample(range(9), draw.randrange(9))
    ]
    facts: list[Row] = [
        {"cell": of["cell"], "name": name, "value": draw.choice([None, 1.0, 2.0]), "text": text}
        for of in cells
        for name, text in (("weights", None), ("weights", "int8"), ("plan", "split"))
    ]
    return tables(cells=cells, samples=samples, facts=facts)


def names(whole: evidence.Tables) -> list[str]:
    return [*whole["cells"]["cell"], "small.none.timing.r0"]


def test_each_cell_has_its_rows_of_every_table(whole: evidence.Tables) -> None:
    cells = CellTables(whole)
    for name in names(whole):
        for table, rows in cells.of(name).items():
            assert rows.equals(whole[table].filter(pl.col("cell") == name).drop("cell"))


def test_samples_are_those_that_settled_in_order(whole: evidence.Tables) -> None:
    cells = CellTables(whole)
    for name, metric in itertools.product(names(whole), METRICS):
        rows = [row for row in whole["samples"].iter_rows(named=True) if row["cell"] == name]
        rows = [row for row in rows if row["metric"] == metric and row["mark"] != "warm-up"]
        rows.sort(key=lambda row: row["index"])
        assert cells.samples(name, metric, None) == [row["value"] for row in rows]
        for region in ("m1", "m2", "m3"):
            values = [row["value"] for row in rows if row["region"] == region]
            assert cells.samples(name, metric, region) == values


def test_a_fact_is_the_first_of_its_name_that_says_something(whole: evidence.Tables) -> None:
    cells = CellTables(whole)
    for name, fact in itertools.product(names(whole), ("weights", "plan", "none")):
        rows = [row for row in whole["facts"].iter_rows(named=True) if row["cell"] == name]
        rows = [row for row in rows if row["name"] == fact]
        values = [row["value"] for row in rows if row["value"] is not None]
        texts = [row["text"] for row in rows if row["text"] is not None]
        assert cells.fact(name, fact) == next(iter(values), None)
        assert cells.text(name, fact) == next(iter(texts), None)


def test_repeats_are_in_the_order_of_rounds_and_failures_have_their_reason(
    whole: evidence.Tables,
) -> None:
    cells = CellTables(whole)
    for capture, variant in itertools.product((*CAPTURES, "nsys"), VARIANTS):
        rows = whole["cells"].filter(
            pl.col("capture") == capture, pl.col("variant") == variant, pl.col("case") == "small"
        )
        repeats = cells.repeats(capture, variant, "small")
        assert repeats.usable.equals(rows.filter(pl.col("status") == "ok").sort("round"))
        failed = rows.filter(pl.col("status") != "ok")["round"].to_list()
        assert repeats.failed == tuple((number, "failed: killed") for number in failed)


def test_regions_are_those_of_the_timing_cells() -> None:
    extra = tables(
        cells=[cell("slow"), cell("slow", capture="ncu")],
        samples=[
            {"cell": "small.slow.timing.r0", "region": "m1", "metric": "x", "index": 0},
            {"cell": "small.slow.ncu.r0", "region": "m9", "metric": "x", "index": 0},
        ],
    )
    assert CellTables(extra).regions("small") == {"m1"}
    assert CellTables(extra).regions("large") == set()
