"""The case of many sizes, run on a CPU with a tiny model and transformers as locked."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch


@pytest.mark.slow
@needs_torch
def test_static_sizes_are_compiled_one_by_one(
    modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    for part in ("harness", "problems", "requirements"):
        (tmp_path / part).symlink_to(ROOT / part)
    words = ("run", "11", "--full", "--case", "sizes", "--engine", "local", "--python", str(PYTHON))
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words, "--worklog"],
        cwd=tmp_path,
        env={
            **os.environ,
            "WORKLOGS_CHECKOUT": str(tmp_path),
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONPATH": str(ROOT),
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (facts,) = tmp_path.glob("reports/11-*/cpu/evidence/facts.parquet")
    counts = {row["name"]: row["value"] for row in pl.read_parquet(facts).iter_rows(named=True)}
    assert counts["compiles.static"] == 5  # one for each of the five sizes
    assert counts["compiles.dynamic"] <= 2
    predict = modules["predict"]
    assert counts["dispatched.block"] == predict.OPERATORS
    assert counts["dispatched.call"] == predict.OPERATORS_OF_CALL
    assert counts["dispatched.one-call"] == predict.OPERATORS_OF_ONE_CALL
