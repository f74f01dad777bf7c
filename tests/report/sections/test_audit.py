"""A page's audit of a cell, and its ledger of predictions."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from harness.captures.torch.read import read
from harness.evidence.tables import Tables
from harness.problem.model import Metric, Problem
from harness.report.sections import audit as sections
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, cell, samples, tables
from tests.support.training_trace import Kernel, Layer, Step, events, write

STEP = Step(
    [Layer("Linear_3", "aten::addmm", "AddmmBackward0", [Kernel("g", 60)], [Kernel("h", 30)])]
)


@pytest.fixture
def predicting(example: Problem) -> Problem:
    """The example with times of a step and a prediction."""
    time = {"label": "time", "unit": "ms", "capture": "timing"}
    added = {
        "step": Metric.model_validate(time | {"sample": "wall_time"}),
        "expected": Metric.model_validate(time | {"fact": "expected"}),
        "turns": Metric.model_validate(time | {"unit": "×", "sample": "ratio"}),
        "power": Metric.model_validate(time | {"unit": "%", "sample": "power"}),
    }
    return example.model_copy(update={"metrics": example.metrics | added})


def traced(folder: Path) -> Tables:
    """Return the evidence of one cell that holds a training step's trace."""
    row = cell("slow", capture="torch")
    evidence = tables(cells=[row])
    for name, rows in read(write(folder / "trace.json", events(STEP))).items():
        if rows.height:
            evidence[name] = rows.select(pl.lit(row["cell"]).alias("cell"), pl.all())
    return evidence


def test_a_page_audits_the_step_of_a_cell(example: Problem, tmp_path: Path) -> None:
    shown = sections.audit(page(example, traced(tmp_path)), "slow", "small")
    assert "forward 0.06 ms (60.0 %), backward 0.03 ms (30.0 %), optimizer 0.01 ms" in shown
    assert "forward: Linear" in rows_of(shown)[1][0]
    assert "No hardware counters" in shown


def test_at_a_lower_clock_the_rest_of_a_step_is_not_called_idle(
    example: Problem, tmp_path: Path
) -> None:
    """The kernels take 100 µs in the trace, at 1980 MHz; the unprofiled step takes 130 µs."""
    known = traced(tmp_path)
    for mhz, said in ((1970.0, "idle for 0.03 ms"), (1500.0, "how long it was idle is not known")):
        timing = cell("slow", sm_mhz=mhz)
        times = [row | {"unit": "ms"} for row in samples(timing, "gpu_time", 0.13)]
        measured = tables(cells=[timing], samples=times)
        cells = pl.concat([known["cells"], measured["cells"]])
        both = known | {"cells": cells, "samples": measured["samples"]}
        assert said in sections.audit(page(example, both), "slow", "small")


def test_without_a_trace_there_is_no_audit(example: Problem) -> None:
    shown = sections.audit(page(example, tables(cells=[cell("slow")])), "slow", "small")
    assert shown == "*Audit: not measured on this target.*"


def timed(
    variant: str, expected: float | None, *rounds: float
) -> tuple[list[Row], list[Row], list[Row]]:
    cells = [cell(variant, number) for number in range(len(rounds))]
    times = [
        row for one, ms in zip(cells, rounds, strict=True) for row in samples(one, "wall_time", ms)
    ]
    facts = (
        []
        if expected is None
        else [{"cell": cells[0]["cell"], "name": "expected", "value": expected}]
    )
    return cells, times, facts


def ledger(
    problem: Problem,
    *of: tuple[list[Row], list[Row], list[Row]],
    paired: tuple[str, str, str] | None = None,
    joined: Sequence[str] = (),
) -> str:
    parts = [[row for one in of for row in one[place]] for place in range(3)]
    evidence = tables(cells=parts[0], samples=parts[1], facts=parts[2])
    names = [each for each in ("slow", "fast", "faster") if each in problem.variants]
    of_page = page(problem, evidence)
    savings = sections.Savings("step", "expected", names, paired)
    middle = sections.median_error(of_page, "small", savings, joined)
    shown = sections.ledger(of_page, "small", savings, joined)
    said = f"Median error of the predictions, over all rows: {middle}."
    assert (said in shown) == (middle != "–")
    return shown


def test_a_prediction_is_held_against_what_each_round_saved(predicting: Problem) -> None:
    shown = ledger(
        predicting, timed("slow", None, 10.0, 11.0, 12.0), timed("fast", 5.0, 6.0, 7.0, 8.0)
    )
    (row,) = rows_of(shown)[1:]
    assert row == ["Fast", "5", "4 ± 0", "25 %"]
    said = "Median error of the predictions, over all rows: 25 %. 0 of 1 lie within"
    assert (
        f"*{said} the interval of what was saved. Together: 5 ms predicted, 4 ms saved.*" in shown
    )


def test_predictions_within_the_interval_of_what_was_saved_are_counted(
    predicting: Problem,
) -> None:
    """5, 4 and 4.5 ms are saved: 4.5 ± 2.9 at 99 %."""
    rounds = (10.0, 11.0, 12.0)
    for expected, count in ((7.0, 1), (8.0, 0)):
        shown = ledger(
            predicting, timed("slow", None, *rounds), timed("fast", expected, 5.0, 7.0, 7.5)
        )
        (row,) = rows_of(shown)[1:]
        assert row[2] == "4.5 ± 2.9"
        assert f"{count} of 1 lie within the interval of what was saved." in shown


def test_a_saving_that_does_not_differ_from_zero_counts_and_is_told(predicting: Problem) -> None:
    """Rounds save 1 and -0.5 ms, 0.25 in the mean, where 1 was expected; or nothing at all."""
    for rounds, error in (((9.0, 12.5), "300 %"), ((10.0, 12.0), "∞")):
        shown = ledger(predicting, timed("slow", None, 10.0, 12.0), timed("fast", 1.0, *rounds))
        (row,) = rows_of(shown)[1:]
        assert row[-1] == error
        assert f"over all rows: {error}. 0 of 1 savings differ from zero. Together:" in shown


def test_of_one_process_nobody_can_say_what_differs_from_zero(predicting: Problem) -> None:
    shown = ledger(predicting, timed("slow", None, 10.0), timed("fast", 5.0, 6.0))
    assert rows_of(shown)[1] == ["Fast", "5", "4", "25 %"]
    assert "differ" not in shown and "lie within" not in shown


def test_the_error_over_savings_that_differ_from_zero_stands_beside(predicting: Problem) -> None:
    third = predicting.variants["fast"].model_copy(update={"label": "Faster"})
    known = predicting.model_copy(update={"variants": predicting.variants | {"faster": third}})
    slow, fast = timed("slow", None, 10.0, 12.0), timed("fast", 5.0, 6.0, 8.0)
    shown = ledger(known, slow, fast, timed("faster", 1.0, 5.0, 8.5))
    assert [row[-1] for row in rows_of(shown)[1:]] == ["25 %", "300 %"]
    assert "over all rows: 162 %. 1 of 2 savings differ from zero; over these it is 25 %." in shown


def test_a_prediction_of_the_wrong_sign_is_told(predicting: Problem) -> None:
    shown = ledger(predicting, timed("slow", None, 10.0, 10.0), timed("fast", 1.0, 11.0, 11.0))
    (row,) = rows_of(shown)[1:]
    assert row[-1] == "200 % (wrong sign)"
    assert "1 of 1 foresaw the wrong sign." in shown


def test_a_fix_that_was_not_measured_is_counted_below_the_rows(predicting: Problem) -> None:
    third = predicting.variants["fast"].model_copy(update={"label": "Faster"})
    known = predicting.model_copy(update={"variants": predicting.variants | {"faster": third}})
    shown = ledger(known, timed("slow", None, 10.0, 10.0), timed("fast", 1.0, 9.0, 9.0))
    assert [row[0] for row in rows_of(shown)[1:]] == ["Fast"]
    assert "1 of 2 fixes were not measured." in shown


def test_joined_fixes_share_a_row_of_their_sums(predicting: Problem) -> None:
    third = predicting.variants["fast"].model_copy(update={"label": "Faster"})
    known = predicting.model_copy(update={"variants": predicting.variants | {"faster": third}})
    shown = ledger(
        known,
        timed("slow", None, 10.0, 11.0, 12.0),
        timed("fast", 1.5, 9.0, 12.0, 9.0),  # waits for something else
        timed("faster", 2.0, 6.0, 7.0, 8.0),
        joined=["fast"],
    )
    (row,) = rows_of(shown)[1:]
    assert row == ["Fast; Faster", "3.5", "4 ± 0", "12 %"]
    assert "Together: 3.5 ms predicted, 4 ms saved." in shown


def with_ratios(
    timed_: tuple[list[Row], list[Row], list[Row]], power: float | None, *ratios: float
) -> tuple[list[Row], list[Row], list[Row]]:
    cells, times, facts = timed_
    for one, ratio in zip(cells, ratios, strict=True):
        times += samples(one, "ratio", ratio)
        times += samples(one, "power", power) if power is not None else []
    return cells, times, facts


@pytest.mark.parametrize(
    ("powers", "saved"),
    [
        ((98.0, 97.0), "4.4 ± 0"),
        ((98.0, 80.0), "4 ± 5.7"),
        ((80.0, 98.0), "4 ± 5.7"),
        ((98.0, None), "4 ± 5.7"),
    ],
)
def test_a_saving_is_taken_from_the_ratios_where_both_steps_are_at_the_power_limit(
    predicting: Problem, powers: tuple[float | None, float | None], saved: str
) -> None:
    # The times of processes differ by 4, 5 and 3; the ratios, in units of 11 ms, tell 4.4 ± 0.
    slow = with_ratios(timed("slow", None, 10.0, 11.0, 12.0), powers[0], 1.0, 1.0, 1.0)
    fast = with_ratios(timed("fast", 5.5, 6.0, 6.0, 9.0), powers[1], 0.6, 0.6, 0.6)
    shown = ledger(predicting, slow, fast, paired=("turns", "slow", "power"))
    (row,) = rows_of(shown)[1:]
    assert row[2] == saved
    summed = "the rows' savings add up to 4.4 ms; the step got 4 ms shorter"
    assert (summed in shown) == (saved == "4.4 ± 0")


def test_without_times_there_is_no_ledger(predicting: Problem) -> None:
    assert ledger(predicting, timed("slow", None, 10.0)).startswith("*Predicted and measured")
