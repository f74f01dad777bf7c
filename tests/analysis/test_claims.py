"""Verdicts: an interval clear of its bound, or none."""

import math

import polars as pl
import pytest

from harness.analysis import claims
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import verdict as verdict_of
from harness.evidence import tables as evidence
from harness.problem.model import Bound, Problem


@pytest.mark.parametrize(
    ("low", "high", "bound", "verdict"),
    [
        (2.0, 2.2, {"above": 1.9}, "reproduced"),
        (2.0, 2.2, {"above": 1.97}, "reproduced"),
        (2.0, 2.2, {"above": 1.99}, "undecided"),  # clear, but by less than a hundredth
        (2.0, 2.2, {"above": 2.21}, "undecided"),
        (2.0, 2.2, {"above": 2.23}, "refuted"),
        (2.0, 2.2, {"below": 2.23}, "reproduced"),
        (2.0, 2.2, {"below": 1.99}, "undecided"),
        (-2.2, -2.0, {"below": -1.97}, "reproduced"),
        (-2.2, -2.0, {"below": -1.99}, "undecided"),
        (2.0, 2.2, {"above": 2.1}, "undecided"),
        (2.0, 2.2, {"above": 2.3}, "refuted"),
        (2.0, 2.2, {"below": 2.3}, "reproduced"),
        (2.0, 2.2, {"below": 2.1}, "undecided"),
        (2.0, 2.2, {"below": 1.9}, "refuted"),
        (2.0, 2.2, {"between": (1.9, 2.3)}, "reproduced"),
        (2.0, 2.2, {"between": (2.1, 2.3)}, "undecided"),
        (2.0, 2.2, {"between": (2.3, 2.4)}, "refuted"),
        (8.0, 8.0, {"between": (8, 8)}, "reproduced"),
        (7.0, 7.0, {"between": (8, 8)}, "refuted"),
        (0.1 + 0.2, 0.1 + 0.2, {"between": (0.3, 0.3)}, "reproduced"),
    ],
)
def test_a_verdict_needs_its_interval_clear_of_the_bound(
    low: float, high: float, bound: dict[str, float], verdict: str
) -> None:
    measured = Measured("ms", value=(low + high) / 2, low=low, high=high)
    assert verdict_of(measured, Bound(**bound)) == verdict  # type: ignore[arg-type]


def test_what_was_not_measured_is_never_zero() -> None:
    assert verdict_of(Measured("ms", why="not run"), Bound(below=1)) == "not measured"


def tables(values: dict[str, list[list[float]]]) -> evidence.Tables:
    """Evidence with wall times by variant and round."""
    rounds = [
        (f"small.{variant}.timing.r{number}", variant, number, of_round)
        for variant, by_round in values.items()
        for number, of_round in enumerate(by_round)
    ]
    cells = [
        {"cell": cell, "variant": variant, "case": "small", "capture": "timing", "round": number}
        | {"status": "ok", "reason": "", "wall_s": 1.0, "doubt": "", "sm_mhz": 1980.0}
        for cell, variant, number, _ in rounds
    ]
    samples = [
        {"cell": cell, "region": "r", "metric": "wall_time", "unit": "ms", "index": index}
        | {"value": value, "mark": ""}
        for cell, _, _, of_round in rounds
        for index, value in enumerate(of_round)
    ]
    return {name: _empty(name) for name in evidence.SCHEMAS} | {
        "cells": _table("cells", cells),
        "samples": _table("samples", samples),
    }


def _table(name: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    columns = {key: [row.get(key) for row in rows] for key in evidence.SCHEMAS[name]}
    cells = pl.Series("cell", [row["cell"] for row in rows], dtype=pl.String)
    return evidence.frame(name, columns).insert_column(0, cells)


def _empty(name: str) -> pl.DataFrame:
    return evidence.empty(name).insert_column(0, pl.lit("").alias("cell"))


def judged(example: Problem, values: dict[str, list[list[float]]]) -> claims.ClaimResult:
    return claims.judge(example, Metrics(example, tables(in_three(values))), "cpu")[0]


def in_three(values: dict[str, list[list[float]]]) -> dict[str, list[list[float]]]:
    """Repeat the samples of a single process in three, which a verdict on times asks for."""
    return {name: rounds * 3 if len(rounds) == 1 else rounds for name, rounds in values.items()}


def test_a_ratio_is_taken_and_judged(example: Problem) -> None:
    result = judged(example, {"slow": [[4.0, 4.1, 3.9]], "fast": [[2.0, 2.0, 2.1]]})
    assert result.verdict == "reproduced"
    assert result.measured.value == pytest.approx(0.5)
    assert (result.measured.low or math.inf) <= 0.5 <= (result.measured.high or 0)


def test_a_side_that_did_not_run_is_named(example: Problem) -> None:
    result = judged(example, {"slow": [[4.0]]})
    assert (result.verdict, result.measured.why) == ("not measured", "fast: not run")
    assert claims.exit_code([result]) == 3


def test_a_claim_that_needs_the_other_device_is_not_judged(example: Problem) -> None:
    (claim,) = example.claims
    needing = [claim.model_copy(update={"needs": device}) for device in ("cpu", "cuda")]
    study = example.model_copy(update={"claims": needing})
    metrics = Metrics(study, tables(in_three({"slow": [[4.0]], "fast": [[2.0]]})))
    for device, expected in (("cpu", (0, 1)), ("cuda", (1, 0))):
        results = claims.judge(study, metrics, device)  # type: ignore[arg-type]
        here, elsewhere = (results[place] for place in expected)
        assert (here.claim, here.verdict) == (needing[expected[0]], "reproduced")
        why = f"needs {str(needing[expected[1]].needs).upper()}"
        assert (elsewhere.claim, elsewhere.verdict) == (needing[expected[1]], "not measured")
        assert elsewhere.measured.why == why


def test_a_claim_on_one_metric_is_judged_by_that(example: Problem) -> None:
    (claim,) = example.claims
    alone = claim.model_copy(update={"over": None, "bound": Bound(below=2.5)})
    study = example.model_copy(update={"claims": [alone]})
    result = judged(study, {"slow": [[4.0]], "fast": [[2.0]]})
    assert (result.measured.value, result.verdict) == (2.0, "reproduced")


def test_exit_codes(example: Problem) -> None:
    good = judged(example, {"slow": [[4.0]], "fast": [[2.0]]})
    bad = judged(example, {"slow": [[2.0]], "fast": [[4.0]]})
    assert (good.verdict, bad.verdict) == ("reproduced", "refuted")
    assert claims.exit_code([good]) == 0
    assert claims.exit_code([good, bad]) == 1
    absent = judged(example, {"slow": [[4.0]]})
    assert claims.exit_code([good, absent]) == 0
    assert claims.exit_code([bad, absent]) == 1
    assert claims.exit_code([absent, absent]) == 3
    open_ = judged(example, {"slow": [[2.0], [2.1], [2.0]], "fast": [[2.1], [2.0], [2.1]]})
    assert open_.verdict == "undecided"
    assert claims.exit_code([good, open_]) == 0
    assert claims.exit_code([good, open_], strict=True) == 1


def test_two_processes_describe_and_what_is_only_described_decides_no_exit_code(
    example: Problem,
) -> None:
    two = judged(example, {"slow": [[4.0], [4.1]], "fast": [[2.0], [2.0]]})
    assert two.verdict == "described"
    assert claims.exit_code([two], strict=True) == 3
    good = judged(example, {"slow": [[4.0]], "fast": [[2.0]]})
    assert claims.exit_code([good, two], strict=True) == 0


def test_a_claim_that_the_run_did_not_test_is_described_whatever_was_measured(
    example: Problem,
) -> None:
    metrics = Metrics(example, tables(in_three({"slow": [[2.0]], "fast": [[4.0]]})))
    why = "the claim's bound was ≤ 2 when the run began"
    (result,) = claims.judge(example, metrics, "cpu", {"faster": why})
    assert (result.verdict, result.untested) == ("described", why)
    assert result.measured.value == pytest.approx(2)
    absent = Metrics(example, tables({"slow": [[2.0]]}))
    (result,) = claims.judge(example, absent, "cpu", {"faster": why})
    assert (result.verdict, result.untested) == ("not measured", "")


FAR_APART = {"slow": [[4.0, 4.1]] * 3, "fast": [[2.0, 2.0], [2.0, 2.01], [2.0, 2.0]]}


@pytest.mark.parametrize(
    ("column", "value", "doubt"),
    [
        ("doubt", "power cap in 9 of 9 looks", "fast: power cap in 9 of 9 looks"),
        ("sm_mhz", 1755.0, "fast: SM clock between rounds from 1755 to 1980 MHz"),
    ],
)
def test_a_doubtful_round_decides_nothing(
    example: Problem, column: str, value: object, doubt: str
) -> None:
    evidence = tables(FAR_APART)
    assert claims.judge(example, Metrics(example, evidence), "cpu")[0].verdict == "reproduced"
    second = pl.col("cell") == "small.fast.timing.r1"
    evidence["cells"] = evidence["cells"].with_columns(
        pl.when(second).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )
    result = claims.judge(example, Metrics(example, evidence), "cpu")[0]
    assert (result.verdict, result.measured.doubt) == ("undecided", doubt)


@pytest.mark.parametrize(
    ("why", "lowest", "verdict"),
    [
        ("power cap in 9 of 9 looks", 1800.0, "reproduced"),
        ("power cap in 9 of 9 looks", 900.0, "undecided"),  # 2.2 times the clock is not excluded
        ("r1: sm clock drifted from 1980 to 1800 MHz", 1800.0, "reproduced"),
        ("power cap in 9 of 9 looks", None, "undecided"),
        ("on the GPU, too: a.out (process 7)", 1980.0, "undecided"),
        ("r1: on the GPU, too: a.out (process 7)", 1980.0, "undecided"),
        ("memory clock drifted from 2619 to 3201 MHz", 1980.0, "undecided"),
    ],
)
def test_a_clock_in_doubt_decides_what_it_cannot_account_for(
    example: Problem, why: str, lowest: float | None, verdict: str
) -> None:
    evidence = tables(FAR_APART)  # half the time, for a bound of 0.99
    ends = {"sm_mhz_min": lowest, "sm_mhz_max": 1980.0, "doubt": why}
    evidence["cells"] = evidence["cells"].with_columns(
        *(
            pl.lit(value).cast(evidence["cells"][name].dtype).alias(name)
            for name, value in ends.items()
        )
    )
    result = claims.judge(example, Metrics(example, evidence), "cpu")[0]
    assert (result.verdict, bool(result.measured.doubt)) == (verdict, True)


@pytest.mark.parametrize("why_none", ["paired", "gpu_state"])
def test_a_ratio_of_one_process_and_the_gpus_state_bear_any_clock(
    example: Problem, why_none: str
) -> None:
    example.metrics["time"] = example.metrics["time"].model_copy(update={why_none: True})
    evidence = tables(FAR_APART)
    ends = {"sm_mhz_min": 900.0, "sm_mhz_max": 1980.0}
    evidence["cells"] = evidence["cells"].with_columns(
        *(pl.lit(value).alias(name) for name, value in ends.items())
    )
    for why, doubtful in (("power cap in 9 of 9 looks", False), ("on the GPU, too: a.out", True)):
        evidence["cells"] = evidence["cells"].with_columns(pl.lit(why).alias("doubt"))
        result = claims.judge(example, Metrics(example, evidence), "cpu")[0]
        assert bool(result.measured.doubt) is doubtful
        assert result.verdict == ("undecided" if doubtful else "reproduced")


def test_a_sample_that_had_not_settled_counts_for_nothing(example: Problem) -> None:
    evidence = tables({"slow": [[4.0, 4.0]], "fast": [[9.0, 2.0]]})
    first = (pl.col("value") == 9.0).fill_null(False)
    evidence["samples"] = evidence["samples"].with_columns(
        pl.when(first).then(pl.lit("warm-up")).otherwise(pl.col("mark")).alias("mark")
    )
    metrics = Metrics(example, evidence)
    assert metrics.get("time", "fast", "small").value == 2.0
    assert metrics.samples("time", "fast", "small") == {0: [2.0]}


def test_a_later_start_is_one_on_a_gpu_that_an_earlier_round_ran_on(example: Problem) -> None:
    example.metrics["time"] = example.metrics["time"].model_copy(update={"start": "later"})
    made = tables({"slow": [[5.0], [2.0], [7.0], [4.0]], "fast": [[1.0]] * 4})
    cells = made["cells"].filter(pl.col("variant") == "slow").sort("round")["cell"]
    gpus = dict(zip(cells, ("first", "first", "second", "second"), strict=True))
    metrics = Metrics(example, made, gpus)
    (case,) = example.cases
    assert metrics.samples("time", "slow", case) == {1: [2.0], 3: [4.0]}


@pytest.mark.parametrize(
    ("start", "value"), [(None, 20 ** (1 / 3)), ("first", 5.0), ("later", 2.0)]
)
def test_the_start_that_fills_the_caches_can_be_told_from_the_later_ones(
    example: Problem, start: str | None, value: float
) -> None:
    example.metrics["time"] = example.metrics["time"].model_copy(update={"start": start})
    metrics = Metrics(example, tables({"slow": [[5.0], [2.0], [2.0]]}))
    assert metrics.get("time", "slow", "small").value == pytest.approx(value)
    once = Metrics(example, tables({"slow": [[5.0]]}))
    measured = once.get("time", "slow", "small")
    assert measured.why == ("no later start was run" if start == "later" else "")


def test_what_was_sampled_once_is_no_count() -> None:
    sampled = Measured("ms", value=2.0, low=2.0, high=2.0, rounds=3, samples=20, timed=True)
    assert verdict_of(sampled, Bound(below=2.01)) == "tie"
    counted = Measured("kernels", value=2.0, low=2.0, high=2.0, rounds=1, samples=1)
    assert verdict_of(counted, Bound(below=2.0)) == "reproduced"
