"""What a worklog says of its own conditions: cost of captures, series, notes, and the roofline."""

import re
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import limits
from harness.report.worklog import Worklog
from tests.support.manifests import GOOD, written
from tests.support.small_evidence import Row, ceiling, cell, samples, tables


def overhead(example: Problem, *timed: tuple[Row, list[float]]) -> dict[str, list[str]]:
    """Return the table's cells by the first of each row."""
    found = tables(
        cells=[of for of, _ in timed],
        samples=[row for of, values in timed for row in samples(of, "latency", *values)],
    )
    told = limits.overhead(example, Metrics(example, found), "small")
    lines = [line.strip("| ").split(" | ") for line in told.splitlines()]
    return {first: rest for first, *rest in lines}


def times(text: str) -> float:
    assert text.endswith("×")
    return float(text.removesuffix("×"))


def test_the_cost_of_a_capture_is_its_median_step_over_the_unprofiled(example: Problem) -> None:
    rows = overhead(
        example,
        (cell("slow"), [2.0, 2.0, 9.0]),
        (cell("slow", 1), [2.0, 2.0]),
        (cell("slow", capture="torch"), [5.0, 5.0, 90.0]),
        (cell("slow", capture="memory"), [3.0]),
        (cell("slow", capture="ncu", status="failed", reason="no"), [80.0]),
        (cell("fast"), [1.0]),
    )
    captures = rows["variant"]
    slow = dict(zip(captures, rows["Slow"], strict=True))
    assert {kind for kind, told in slow.items() if told == "–"} == {"nsys", "ncu"}
    assert (times(slow["torch"]), times(slow["memory"])) == (2.5, 1.5)
    assert "Fast" not in rows  # nothing of it was profiled


@pytest.mark.parametrize("capture", ["timing", "torch"])
def test_without_both_sides_the_cost_is_not_measured(example: Problem, capture: str) -> None:
    (told,) = overhead(example, (cell("slow", capture=capture), [2.0]))
    assert "not measured" in told


def test_which_gpu_timed_what_is_told_where_it_was_not_one() -> None:
    def told(*timed: tuple[Row, str]) -> str:
        origin = {"cells": [{"cell": row["cell"], "gpu": gpu} for row, gpu in timed]}
        return limits.timed_on(tables(cells=[row for row, _ in timed]), origin, "small")

    here, there = "GPU-01234567-here", "GPU-89abcdef-there"
    alone = [
        (cell("slow"), here),
        (cell("fast"), here),
        (cell("fast", capture="ncu"), there),
        (cell("odd", status="failed"), there),
        (cell("other", case="large"), there),
    ]
    assert told(*alone) == ""
    text = told(*alone, (cell("slow", 1), here), (cell("third"), there))
    assert text.startswith("*Timed on 2 GPUs of this model")
    assert text.endswith(": slow, fast (GPU-01234567…); third (GPU-89abcdef…).*")


def test_a_worklog_says_what_a_cell_states_in_words(example: Problem) -> None:
    stated = {"cell": "small.slow.timing.r0", "name": "kernel", "text": "GEMM"}
    found = tables(cells=[cell("slow"), cell("fast")], facts=[stated])
    origin = {"run": {"target": {"device": "cuda"}}, "cells": []}
    worklog = Worklog(example, Metrics(example, found), [], origin, found)
    assert worklog.says("kernel", "slow", "small") == "GEMM"
    assert worklog.says("kernel", "fast", "small") == "not measured"
    assert worklog.says("kernel", "third", "small") == "not measured"


def test_samples_are_counted_over_all_series() -> None:
    def series(stopped: str, taken: int, warmup: int, outliers: int) -> Row:
        counts = {"taken": taken, "warmup": warmup, "outliers": outliers}
        return {"cell": "small.slow.timing.r0", "stopped": stopped} | counts

    found = tables(
        sampling=[
            series("samples", 200, 7, 2),
            series("half-width", 40, 0, 1),
            series("half-width", 60, 5, 0),
        ]
    )
    ended, taken = (told for _, told in limits.sampling(found))
    assert ended == "3, ended 2 by half-width, 1 by samples"
    assert taken == "300, of which 12 left out as warm-up; 3 far off and kept"
    assert limits.sampling(tables()) == []


@pytest.mark.parametrize(
    ("count", "more"), [(0, []), (8, []), (9, ["and 1 more"]), (12, ["and 4 more"])]
)
def test_of_many_notes_eight_are_told_and_the_others_counted(count: int, more: list[str]) -> None:
    doubtful = [cell("slow", number, doubt="power cap") for number in range(count)]
    told = [note for _, note in limits.noticed(tables(cells=[cell("fast"), *doubtful]))]
    notes = [f"small.slow.timing.r{number} doubtful: power cap" for number in range(min(count, 8))]
    assert told[: len(notes)] == notes
    assert [note.split(",")[0] for note in told[len(notes) :]] == more


HOW = {"kind": "bf16", "time": "time", "bytes": "moved", "flop": 4e9}
SLOW, FAST = cell("slow"), cell("fast")
MEASURED = [ceiling("GPU-1", "dram_read", 4000.0), ceiling("GPU-1", "bf16", 8.0)]


def drawn(tmp_path: Path, gpu: str, *, points: bool = True, **given: Any) -> str | None:
    moved = "  moved: {label: moved, unit: B, capture: timing, fact: dram_bytes}\nclaims:"
    problem = manifest.load(written(tmp_path, GOOD.replace("claims:", moved)))
    facts = [{"cell": of["cell"], "name": "dram_bytes", "value": 2e6} for of in (SLOW, FAST)]
    timed = [*samples(SLOW, "wall_time", 4.0), *samples(FAST, "wall_time", 2.0)]
    found: Tables = tables(
        cells=[SLOW, FAST], samples=timed, facts=facts if points else [], **given
    )
    return limits.draw_roofline(problem, Metrics(problem, found), found, gpu, "small", HOW)


def test_each_variant_is_drawn_with_its_share_of_the_measured_roof(tmp_path: Path) -> None:
    better = [*MEASURED, ceiling("GPU-2", "bf16", 10.0), ceiling("GPU-2", "dram_read", 3000.0)]
    svg = drawn(tmp_path, "a GPU", ceilings=better)
    assert svg
    assert svg.startswith("<svg")
    # 1 and 2 TFLOP/s, at 2000 FLOP a byte under the rate of the better GPU.
    assert set(re.findall(r"\b\d+ %", svg)) == {"10 %", "20 %"}
    assert "measured on this GPU" in svg
    assert "datasheet" not in svg


@pytest.mark.parametrize(
    ("points", "ends"),
    [
        ([0.5, 2.0], (0.25, 800.0)),  # bound by memory: both parts of the roof, and the points
        ([1000.0, 1500.0], (25.0, 3000.0)),  # by arithmetic
    ],
)
def test_both_parts_of_a_roof_and_all_points_are_drawn(
    points: list[float], ends: tuple[float, float]
) -> None:
    assert limits._ends(points, [100.0, 200.0]) == ends


def test_without_ceilings_the_datasheet_is_the_roof(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "NVIDIA H200")
    assert svg
    assert "datasheet" in svg
    assert "measured on this GPU" not in svg


def test_without_a_roof_or_a_point_there_is_no_figure(tmp_path: Path) -> None:
    assert drawn(tmp_path, "a GPU") is None
    assert drawn(tmp_path, "a GPU", ceilings=MEASURED[:1]) is None
    assert drawn(tmp_path, "NVIDIA H200", points=False, ceilings=MEASURED) is None
