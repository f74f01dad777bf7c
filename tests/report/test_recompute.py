"""The values of the committed reports, by code that shares nothing with the harness."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks import recompute

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_report_s_values_are_those_of_its_evidence() -> None:
    command = [sys.executable, "benchmarks/recompute.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    agree = re.search(r"(\d+) agree", done.stdout)
    assert agree
    assert int(agree[1]) > 250


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
    found = recompute.rounds(tmp_path, {"sample": "m"}, "r", "v", "x")
    assert found == {0: (2.0, "one"), 1: (8.0, "")}
    assert recompute.mean([2.0, 8.0]) == pytest.approx(4.0)
