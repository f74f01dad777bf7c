"""What got worse since a report: known truths in the samples of two sides."""

import random
from pathlib import Path

import pytest

from harness.analysis import regression
from harness.analysis.claims import judge
from harness.analysis.metrics import Metrics
from harness.analysis.regression import Change, MeasuredSubject
from harness.problem import manifest
from harness.problem.model import Problem
from tests.support import small_evidence
from tests.support.manifests import GOOD, written

TEXT = GOOD.replace(
    "claims:",
    "  rate: {label: rate, unit: tok/s, capture: timing, sample: rate, better: higher}\n"
    "  size: {label: size, unit: B, capture: timing, fact: size}\n"
    "  compile: {label: compile, unit: s, capture: timing, fact: compile}\n"
    "claims:",
)


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return manifest.load(written(tmp_path, TEXT))


def side(
    problem: Problem,
    *medians: float,
    metric: str = "wall_time",
    fact: str = "",
    gpu: str = "GPU-1",
    doubt: str = "",
) -> MeasuredSubject:
    """One process of each variant a value: the slow variant has it, the fast always 1."""
    draw = random.Random(7)
    cells, samples, facts = [], [], []
    for number, value in enumerate(medians):
        for variant, middle in (("slow", value), ("fast", 1.0)):
            cell = small_evidence.cell(variant, number, doubt=doubt)
            cells.append(cell)
            if fact:
                facts.append({"cell": cell["cell"], "name": fact, "value": middle})
            else:
                values = [middle * draw.uniform(0.999, 1.001) for _ in range(9)]
                samples += small_evidence.samples(cell, metric, *values)
    ceilings = [small_evidence.ceiling(f"GPU-{name}", "bf16", 800.0 + name) for name in (1, 2, 99)]
    tables = small_evidence.tables(cells=cells, samples=samples, facts=facts, ceilings=ceilings)
    gpus = {cell["cell"]: gpu for cell in cells}
    return MeasuredSubject(Metrics(problem, tables, gpus), tables, gpus)


def of_slow(problem: Problem, now: MeasuredSubject, then: MeasuredSubject) -> Change:
    (found,) = (each for each in regression.changes(problem, now, then) if each.variant == "slow")
    return found


@pytest.mark.parametrize(
    ("then", "now", "outcome"),
    [
        ((2.0, 2.01, 1.99), (2.2, 2.21, 2.19), "worse"),
        ((2.2, 2.21, 2.19), (2.0, 2.01, 1.99), "better"),
        ((2.0, 2.01, 1.99), (2.0, 2.01, 1.99), "not told apart"),
        ((2.0, 2.001, 1.999), (2.01, 2.011, 2.009), "not told apart"),  # by half a percent
        ((1.5, 2.0, 2.5), (1.7, 2.2, 2.9), "not told apart"),  # processes differ by more
        ((2.0,), (2.2, 2.21, 2.19), "not told apart"),
    ],
)
def test_a_time_is_worse_only_by_the_rule_of_verdicts(
    problem: Problem, then: tuple[float, ...], now: tuple[float, ...], outcome: str
) -> None:
    found = of_slow(problem, side(problem, *now), side(problem, *then))
    assert found.outcome == outcome
    assert found.factor == pytest.approx((sum(now) / len(now)) / (sum(then) / len(then)), rel=0.02)


def test_of_a_rate_less_is_worse(problem: Problem) -> None:
    then, now = (side(problem, value, value, value, metric="rate") for value in (100.0, 90.0))
    assert of_slow(problem, now, then).outcome == "worse"
    assert of_slow(problem, then, now).outcome == "better"


@pytest.mark.parametrize(
    ("then", "now", "outcome"),
    [
        (100.0, 102.0, "worse"),
        (100.0, 100.5, "not told apart"),
        (0.0, 1.0, "worse"),
        (1.0, 0.0, "better"),
    ],
)
def test_a_count_needs_no_interval(problem: Problem, then: float, now: float, outcome: str) -> None:
    sides = [side(problem, value, fact="size") for value in (now, then)]
    assert of_slow(problem, *sides).outcome == outcome


def test_one_measured_value_decides_nothing(problem: Problem) -> None:
    now, then = (side(problem, value, fact="compile") for value in (20.0, 10.0))
    assert of_slow(problem, now, then).outcome == "not told apart"


@pytest.mark.parametrize(
    ("gpu", "outcome"), [("GPU-1", "worse"), ("GPU-2", "worse"), ("GPU-99", "not told apart")]
)
def test_gpus_that_differ_by_as_much_decide_nothing(
    problem: Problem, gpu: str, outcome: str
) -> None:
    then, now = side(problem, 2.0, 2.0, 2.0), side(problem, 2.2, 2.2, 2.2, gpu=gpu)
    found = of_slow(problem, now, then)
    assert found.outcome == outcome
    assert bool(found.why) == (gpu != "GPU-1")


def test_times_beside_a_foreign_process_decide_nothing(problem: Problem) -> None:
    then = side(problem, 2.0, 2.0, 2.0)
    now = side(problem, 4.0, 4.0, 4.0, doubt="python (1) on the GPU, too")
    found = of_slow(problem, now, then)
    assert (found.outcome, "on the GPU, too" in found.why) == ("not told apart", True)


def test_a_claim_that_held_and_is_refuted_now_is_named(problem: Problem) -> None:
    held, broken = side(problem, 2.0, 2.0, 2.0), side(problem, 0.5, 0.5, 0.5)
    now, then = (judge(problem, each.metrics, "cuda") for each in (broken, held))
    assert [each.claim.id for each in regression.newly_refuted(now, then)] == ["faster"]
    assert regression.newly_refuted(then, now) == []
