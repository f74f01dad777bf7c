"""A case of many sizes: its regions in order, its values and its shares of what the GPU can do."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.evidence.tables import Tables
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.sections import sweep
from tests.support import figures
from tests.support.manifests import GOOD, written
from tests.support.pages import page, rows_of
from tests.support.small_evidence import ceiling, cell, samples, tables

FACTS = "".join(
    f"  {name}: {{label: {name}, unit: '', capture: timing, fact: {name}}}\n"
    for name in ("moved", "flop")
)
HOW = {"time": "time", "bytes": "moved", "flop": "flop", "kind": "bf16"}
TIMES = {"slow": {"m4096": 4.0, "m1": 0.02, "m64": 0.05}, "fast": {"m64": 0.03, "m1": 0.01}}
CEILINGS = [ceiling("GPU-1", "dram_read", 4000.0), ceiling("GPU-1", "bf16", 800.0)]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    labels = GOOD.replace("label: Fast,", "label: 'Fast, with a long label that goes on',")
    return manifest.load(written(tmp_path, labels.replace("claims:", f"{FACTS}claims:")))


def evidence(times: Mapping[str, Mapping[str, float]] = TIMES) -> Tables:
    """Return timing cells whose regions are sizes; 1 MB and 8 GFLOP a unit of size."""
    rows, facts = [], []
    for variant, by_region in times.items():
        of = cell(variant)
        for region, value in by_region.items():
            rows += [row | {"region": region} for row in samples(of, "wall_time", value, value)]
            size = int(region[1:])
            for name, fact in (("moved", 1e6 + 1e3 * size), ("flop", 8e7 * size)):
                facts.append({"cell": of["cell"], "name": f"{name}.{region}", "value": fact})
            kernel = {"cell": of["cell"], "name": f"kernel.{region}", "text": f"k{size}"}
            facts.append(kernel)
    cells = [cell(variant) for variant in times]
    return tables(cells=cells, samples=rows, facts=facts, ceilings=CEILINGS)


@pytest.fixture
def shown(problem: Problem) -> Page:
    return page(problem, evidence())


def test_sizes_are_in_the_order_of_their_numbers(shown: Page) -> None:
    assert sweep.sizes(shown.metrics, "small") == ["m1", "m64", "m4096"]
    assert sweep.sizes(shown.metrics, "other") == []


def test_a_row_has_each_variants_time_and_what_the_last_one_states(shown: Page) -> None:
    table = sweep.sweep_table(shown, "time", "small", ["slow", "fast"], ["kernel"])
    assert rows_of(table)[1:] == [
        ["1", "20", "10", "k1"],
        ["64", "50", "30", "k64"],
        ["4096", "4000", "–", "–"],
    ]


def test_a_share_is_of_whichever_limit_takes_longer(shown: Page) -> None:
    rows = sweep.share_rows(shown.metrics, shown.tables, "small", ["slow"], HOW)
    # 1.001 MB at 4,000 GB/s are 0.25 µs of 20; 327.7 GFLOP at 800 TFLOP/s 0.41 ms of 4.
    assert [row[1] for row in rows] == [
        "1 % of memory",
        "13 % of arithmetic",
        "10 % of arithmetic",
    ]


def test_without_ceilings_or_samples_there_is_a_dash(shown: Page) -> None:
    bare = shown.tables | {"ceilings": shown.tables["ceilings"].clear()}
    rows = sweep.share_rows(shown.metrics, bare, "small", ["slow"], HOW)
    assert {row[1] for row in rows} == {"–"}
    rows = sweep.share_rows(shown.metrics, shown.tables, "small", ["fast"], HOW)
    assert rows[-1] == ["4096", "–"]
    assert sweep.draw_sweep(shown, "time", "other", ["slow"]) is None


def test_each_line_is_named_at_its_end_by_its_label(shown: Page) -> None:
    svg = sweep.draw_sweep(shown, "time", "small", ["slow", "fast"])
    assert svg is not None
    assert "NaN" not in svg
    texts = {label.text: label for label in figures.labels(svg)}
    assert "time, µs, log scale" in svg
    assert texts["Slow"].bottom < texts["Fast, with a long label"].top
    assert texts["Slow"].left > max(texts["1"].right, texts["4096"].left)
    assert figures.overlapping(svg) == []


def test_lines_that_end_together_have_their_names_apart(problem: Problem) -> None:
    alike = evidence({"slow": {"m1": 1.0, "m4096": 4.0}, "fast": {"m1": 2.0, "m4096": 4.001}})
    svg = sweep.draw_sweep(page(problem, alike), "time", "small", ["slow", "fast"])
    assert svg is not None
    assert figures.overlapping(svg) == []
    assert figures.size(svg)[0] <= 720
