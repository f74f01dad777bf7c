"""A metric over the sizes of several cases: each line's values, and its name at its end."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
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

SIZES = [4096, 1, 64]
CASES = [f"m{size}" for size in SIZES]
FACTS = "".join(
    f"  {name}: {{label: {name}, unit: '', capture: timing, fact: {name}}}\n"
    for name in ("moved", "flop")
)
HOW = {"time": "time", "bytes": "moved", "flop": "flop", "kind": "bf16"}
CEILINGS = [ceiling("GPU-1", "dram_read", 4000.0), ceiling("GPU-1", "bf16", 800.0)]
TIMES = {"slow": {"m4096": 4.0, "m1": 0.02, "m64": 0.05}, "fast": {"m64": 0.03, "m1": 0.01}}


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    cases = "".join(f"  m{size}: {{label: M, params: {{m: {size}}}}}\n" for size in SIZES)
    text = GOOD.replace("label: Fast,", "label: 'Fast, with a long label that goes on',")
    text = text.replace("captures:", f"{cases}captures:")
    text = text.replace("claims:", f"{FACTS}claims:")
    return manifest.load(written(tmp_path, text))


def evidence(times: Mapping[str, Mapping[str, float]]) -> Tables:
    """Return a timing cell a variant and case, with these samples in ms.

    1 MB, and for each unit of size 1 kB and 80 MFLOP.
    """
    cells, rows, facts = [], [], []
    for variant, by_case in times.items():
        for case, value in by_case.items():
            of = cell(variant, case=case) | {"cell": f"{case}.{variant}.timing.r0"}
            cells.append(of)
            rows += samples(of, "wall_time", value, value)
            size = int(case[1:])
            for name, fact in (("moved", 1e6 + 1e3 * size), ("flop", 8e7 * size)):
                facts.append({"cell": of["cell"], "name": name, "value": fact})
    return tables(cells=cells, samples=rows, facts=facts, ceilings=CEILINGS)


@pytest.fixture
def shown(problem: Problem) -> Page:
    return page(problem, evidence(TIMES))


def test_each_line_is_named_at_its_end_by_its_label(shown: Page) -> None:
    svg = sweep.draw_sweep(shown, "time", "m", CASES, ["slow", "fast"])
    assert svg is not None
    assert "NaN" not in svg
    texts = {label.text: label for label in figures.labels(svg)}
    assert "time, µs, log scale" in svg
    assert texts["Slow"].bottom < texts["Fast, with a long label"].top
    assert texts["Slow"].left > max(texts["1"].right, texts["4096"].left)
    assert figures.overlapping(svg) == []


def test_lines_that_end_together_have_their_names_apart(problem: Problem) -> None:
    alike = evidence({"slow": {"m1": 1.0, "m4096": 4.0}, "fast": {"m1": 2.0, "m4096": 4.001}})
    svg = sweep.draw_sweep(page(problem, alike), "time", "m", CASES, ["slow", "fast"])
    assert svg is not None
    assert figures.overlapping(svg) == []
    assert figures.size(svg)[0] <= 720


def test_a_line_that_ends_early_is_named_there_if_there_is_room(problem: Problem) -> None:
    early = {"slow": {"m1": 1.0, "m64": 1.1, "m4096": 1.2}, "fast": {"m1": 3.0, "m64": 3.0}}
    svg = sweep.draw_sweep(page(problem, evidence(early)), "time", "m", CASES, ["slow", "fast"])
    texts = {label.text: label for label in figures.labels(svg or "")}
    assert texts["Slow"].left > texts["4096"].left
    assert texts["Fast, with a long label"].right < texts["4096"].left
    assert figures.overlapping(svg or "") == []


def test_a_line_that_ends_early_without_room_for_its_name_has_no_leader() -> None:
    rows = [
        {"series": name, "size": size, "value": value}
        for name, size, value in (
            ("whole", 1, 1.0),
            ("whole", 4096, 9.0),
            ("early, and too long a name to stand inside " * 12, 1, 3.0),
        )
    ]
    svg = sweep.draw(rows, "time, µs", "M")
    ends = re.findall(r'<line [^>]*x2="([-\d.]+)" y2="([-\d.]+)"[^>]*stroke-dasharray="2,3"', svg)
    lengths = {round(math.hypot(float(x), float(y))) for x, y in ends}
    assert 0 in lengths and max(lengths) <= 40


def test_values_that_lie_close_are_drawn_from_0_at_their_sizes(problem: Problem) -> None:
    close = evidence({"slow": {"m1": 1.0, "m64": 2.0, "m4096": 4.0}})
    svg = sweep.draw_sweep(page(problem, close), "time", "m", CASES, ["slow"]) or ""
    texts = {label.text for label in figures.labels(svg)}
    assert {"time, µs", "0", "1", "64", "4096"} <= texts
    points = re.findall(r'"point" transform="translate\(([\d.]+),([\d.]+)\)', svg)
    (_, one), (_, two), (_, four) = sorted((float(x), float(y)) for x, y in points)
    assert (two - four) == pytest.approx(2 * (one - two))


def test_a_share_is_of_whichever_limit_takes_longer(shown: Page) -> None:
    rows = rows_of(sweep.shares(shown, ["m1", "m64", "m4096"], ["slow", "fast"], **HOW))
    # 1.001 MB at 4,000 GB/s are 0.25 µs of 20; 327.7 GFLOP at 800 TFLOP/s 0.41 ms of 4.
    assert [row[1] for row in rows[1:]] == [
        "1 % of memory",
        "13 % of arithmetic",
        "10 % of arithmetic",
    ]
    assert [row[2] for row in rows[1:]][1:] == ["21 % of arithmetic", "–"]


def test_without_ceilings_there_is_no_share(shown: Page) -> None:
    bare = replace(shown, tables=shown.tables | {"ceilings": shown.tables["ceilings"].clear()})
    assert "%" in sweep.shares(shown, ["m1"], ["slow"], **HOW)
    assert "%" not in sweep.shares(bare, ["m1"], ["slow"], **HOW)


def test_without_samples_there_is_no_figure(shown: Page) -> None:
    assert sweep.draw_sweep(shown, "time", "m", ["small"], ["slow"]) is None
    assert sweep.draw_sweep(shown, "time", "m", ["m4096"], ["fast"]) is None
