"""The page of a night, of runs with samples."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis import regression
from harness.analysis.regression import Since
from harness.extract import door
from harness.problem import manifest
from harness.report.night import Fared, page
from tests.support.manifests import GOOD, written
from tests.support.run_cells import timed

GPUS = {"h200": "NVIDIA H200", "a|b": "NVIDIA A100"}


def since(folder: Path, then: float, now: float) -> Since:
    """Return what changed between two runs whose slow variant takes so many ms."""
    sides = [door.whole(timed(folder / "runs", value).folder) for value in (now, then)]
    return regression.since(manifest.load(written(folder, GOOD)), *sides)


@pytest.mark.parametrize(("now", "is_worse"), [(2.0, False), (2.2, True)])
def test_a_slower_variant_has_a_row_with_both_times(
    tmp_path: Path, now: float, is_worse: bool
) -> None:
    compared = since(tmp_path, 2.0, now)
    fared = Fared("9-example", "h200", {"reproduced": 1}, compared, against="nights/1/h200")
    shown = page("2", GPUS, [fared], waiting=0)
    assert fared.is_worse == is_worse
    assert f"{int(is_worse)} of 1 got worse; 0 failed" in shown
    assert ("## Worse" in shown) == ("`small.slow`" in shown) == is_worse
    assert "(h200/9-example/README.md)" in shown
    assert f"{int(is_worse)} worse, 0 better, 0 doubtful of 2 metrics" in shown


def test_a_claim_is_newly_refuted_with_both_values(tmp_path: Path) -> None:
    fared = Fared("9-example", "h200", {"refuted": 1}, since(tmp_path, 2.0, 0.5))
    row = page("2", GPUS, [fared], waiting=0).partition("## Newly refuted")[2].splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")][3:6] == ["`faster`", "0.5×", "2×"]


def test_times_of_two_gpus_are_not_taken_for_as_good_as_before(tmp_path: Path) -> None:
    problem = manifest.load(written(tmp_path, GOOD))
    now, then = (door.whole(timed(tmp_path / "runs", 2.0).folder) for _ in range(2))
    cells = tuple(cell.model_copy(update={"gpu": "GPU-2"}) for cell in then.origin.cells)
    then = replace(then, origin=then.origin.model_copy(update={"cells": cells}))
    same = Fared("9-example", "h200", {}, regression.since(problem, now, now))
    other = Fared("9-example", "h200", {}, regression.since(problem, now, then))
    assert "0 worse, 0 better, 0 doubtful of 2 metrics" in same.in_words()
    assert "0 worse, 0 better, 2 doubtful of 2 metrics" in other.in_words()


def test_what_failed_or_was_not_run_says_why_and_stays_one_row() -> None:
    failed = Fared("9-example", "a|b", failures=("cell c: failed: no | such: log.txt",))
    lacking = Fared("7-other", "h200", lacking="nothing to run")
    shown = page("2", GPUS, [failed, lacking], waiting=3)
    assert "**0 of 2 got worse; 1 failed; 3 still run or wait.**" in shown
    assert "| 9-example | a&#124;b | cell c: failed: no &#124; such: log.txt |" in shown
    assert "| 7-other | h200 | nothing to run |" in shown
    assert "| 9-example | - | **1 failed** |" in shown.replace("–", "-").replace("—", "-")
