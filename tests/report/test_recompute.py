"""The claims of the committed reports, by code that shares nothing with the harness."""

import math
import random
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks.recompute import captures, claims, intervals
from harness.analysis import statistics

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"named_host_code: the rules of the diagnosis define it", "not measured"}


@pytest.mark.slow
def test_every_claim_is_what_its_evidence_says() -> None:
    command = [sys.executable, "-m", "benchmarks.recompute"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"^(\d+ \S+): \w+ differ", done.stdout, re.M) == []
    assert set(re.findall(r"^value left out, (.*?): \d+ \S+", done.stdout, re.M)) == LEFT_OUT
    agree = dict(re.findall(r"^(\w+): (\d+) agree", done.stdout, re.M))
    assert all(int(agree[what]) > 200 for what in ("values", "ends", "verdicts"))


def test_a_process_counts_once_and_without_its_warm_up(tmp_path: Path) -> None:
    cells = {"cell": ["a", "b", "c"], "variant": ["v"] * 3, "case": ["x"] * 3, "round": [0, 1, 2]}
    status = ["ok", "ok", "failed"]
    frame = pl.DataFrame({**cells, "capture": ["timing"] * 3, "status": status})
    frame.write_parquet(tmp_path / "cells.parquet")
    samples = [
        ("a", 1.0, ""),
        ("a", 3.0, ""),
        ("a", 90.0, "warm-up"),
        ("b", 8.0, ""),
        ("c", 5.0, ""),
    ]
    rows = [
        {"cell": cell, "region": "r", "metric": "m", "value": v, "mark": k}
        for cell, v, k in samples
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "samples.parquet")
    (tmp_path / "provenance.json").write_text('{"cells": [{"cell": "a", "gpu": "one"}]}')
    found = claims.rounds(tmp_path, {"sample": "m"}, "r", "v", "x")
    assert found == {0: (2.0, "one"), 1: (8.0, "")}
    assert intervals.of_processes([2.0, 8.0], sampled=True).value == pytest.approx(4.0)


@pytest.mark.parametrize(("freedom", "printed"), [(1, 63.657), (2, 9.925), (4, 4.604), (60, 2.660)])
def test_student_s_point_is_the_one_that_tables_print(freedom: float, printed: float) -> None:
    assert intervals.student(freedom) == pytest.approx(printed, abs=5e-4)


@pytest.mark.parametrize("least", [0.5, -0.5], ids=["logarithms", "as they are"])
def test_both_ways_to_a_mean_over_shapes_and_processes_agree(least: float) -> None:
    draw = random.Random(1)
    rows = [[least + draw.random() + draw.random() for _ in range(4)] for _ in range(9)]
    ours, theirs = intervals.of_shapes(rows), statistics.over_members(rows)
    assert ours.value == pytest.approx(theirs.value)
    assert ours.ends == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize(
    ("ends", "bound", "expected"),
    [
        ((1.02, 1.04), {"above": 1}, "reproduced"),
        ((1.005, 1.04), {"above": 1}, "undecided"),
        ((0.995, 1.005), {"above": 1}, "tie"),
        ((0.9, 0.98), {"above": 1}, "refuted"),
        ((0.9, 0.98), {"between": [0.8, 1]}, "reproduced"),
        ((1.0, 1.0), {"below": 1}, "reproduced"),
    ],
)
def test_a_verdict_needs_the_interval_clear_of_the_bound(
    ends: tuple[float, float], bound: dict[str, float], expected: str
) -> None:
    sampled = ends[0] < ends[1]
    assert intervals.verdict(intervals.Again(ends[0], ends, sampled), bound) == expected


def test_idle_is_when_nothing_runs_on_any_stream() -> None:
    times = {"start_ns": [0, 2, 5, 10], "duration_ns": [4, 3, 1, 10]}
    ops = pl.DataFrame(times)
    assert captures.gpu_idle_share(lambda _: ops) == pytest.approx(100 * 4 / 20)


def test_a_request_without_a_token_counts_as_longer_than_any() -> None:
    tables = {
        "load_tokens": pl.DataFrame({"request": [1, 1, 2], "time_ns": [9, 5, 8]}),
        "load_requests": pl.DataFrame(
            {
                "request": [0, 1, 2, 3],
                "due_ns": [0, 1, 2, 3],
                "prompt_tokens": [7] * 4,
                "mark": ["warm-up", "", "", None],
            }
        ),
        "load_runs": pl.DataFrame({"end_ns": [1_000_000_001]}),
    }
    assert captures.first_token_ms(tables.__getitem__, 0.5) == pytest.approx(6e-6)
    assert captures.first_token_ms(tables.__getitem__, 0.99) is None
    assert captures.between_tokens_ms(tables.__getitem__, 0.5) == pytest.approx(4e-6)
    assert math.isclose(captures.tokens_per_s(tables.__getitem__, prompts=True), 3 + 2 * 7)
