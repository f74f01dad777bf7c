"""The short path: the cells that headline claims need, by how many wait for them, in few rounds."""

from collections import Counter
from pathlib import Path

import pytest

from harness.ground.errors import UsageError
from harness.problem.fields import Device
from harness.problem.manifest import load
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.manifests import written

MANIFEST = """\
title: A title
summary: A summary
environments: {plain: {}}
baseline: slow
variants:
  slow: {label: Slow, environment: plain}
  fast: {label: Fast, environment: plain}
  best: {label: Best, environment: plain}
cases:
  small: {label: Small}
  big: {label: Big}
  huge: {label: Huge, needs: cuda}
captures:
  torch: {}
  timing: {rounds: 5}
  nsys: {needs: cuda}
metrics:
  time: {label: time, unit: ms, capture: timing, sample: wall_time}
  warm: {label: warm, unit: ms, capture: timing, sample: wall_time, start: later}
  bytes: {label: bytes, unit: B, capture: timing, fact: bytes}
  kept: {label: kept, unit: B, capture: timing, fact: bytes, start: later}
  kernels: {label: kernels, unit: "", capture: torch, measure: kernels_per_step}
  launches: {label: launches, unit: "", capture: nsys, measure: kernels_per_step}
"""

SHORT = Selected(short=True)


def problem(folder: Path, *claims: str, more: str = "") -> Problem:
    """Return a problem with these claims: METRIC CASE VARIANT [OVER], a star before a headline."""
    lines = ["claims:"]
    for number, claim in enumerate(claims):
        metric, case, variant, *over = claim.removeprefix("*").split()
        headline = "headline: true, " if claim.startswith("*") else ""
        ratio = f"over: {{variant: {over[0]}}}, " if over else ""
        of = f"of: {{variant: {variant}, case: {case}}}"
        lines.append(
            f"  - {{id: c{number}, statement: S, metric: {metric}, {of}, {ratio}{headline}"
            "bound: {below: 1}}"
        )
    return load(written(folder, "\n".join([MANIFEST, more, *lines, ""])))


ADVICE = """\
  - id: take-best
    kind: advice
    headline: true
    statement: Take best.
    metric: time
    take: best
    instead_of: slow
    at: [small, big]
    holds_for: small to big
    pays: [kernels]
    except: {odd: another class}
"""


def names(study: Problem, selected: Selected, device: Device = "cuda") -> list[str]:
    return [cell.name for cell in plan(study, selected, device)]


def test_it_holds_what_headline_claims_compare_and_nothing_else(tmp_path: Path) -> None:
    study = problem(tmp_path, "*time small fast slow", "*kernels small best", "time big best slow")
    assert names(study, SHORT) == [
        "small.slow.timing.r0",
        "small.fast.timing.r0",
        "small.fast.timing.r1",
        "small.slow.timing.r1",
        "small.slow.timing.r2",
        "small.fast.timing.r2",
        "small.best.torch.r0",
    ]


def test_the_case_that_most_claims_wait_for_comes_first(tmp_path: Path) -> None:
    claims = ("*time small fast", "*kernels big fast", "*launches big slow", "*launches big best")
    order = [(cell.case, cell.capture) for cell in plan(problem(tmp_path, *claims), SHORT, "cuda")]
    assert list(dict.fromkeys(order)) == [("big", "nsys"), ("big", "torch"), ("small", "timing")]


def test_without_a_headline_everything_is_the_short_path(tmp_path: Path) -> None:
    study = problem(tmp_path, "time small fast slow")
    assert names(study, SHORT) == names(study, Selected())


def test_the_manifest_says_how_many_rounds(tmp_path: Path) -> None:
    study = problem(tmp_path, "*time small fast", more="short: {rounds: 3}")
    assert Counter(cell.variant for cell in plan(study, SHORT, "cuda")) == {"fast": 3}
    once = study.model_copy(
        update={"captures": {"timing": study.captures["timing"].model_copy(update={"rounds": 1})}}
    )
    assert len(plan(once, SHORT, "cuda")) == 1  # never more than the whole run has
    assert len(plan(study, Selected(rounds=7, short=True), "cuda")) == 7


@pytest.mark.parametrize(
    ("claim", "short", "on_cpu"),
    [
        ("time small fast", 3, 5),
        ("bytes small fast", 1, 1),  # a fact is stated once
        ("kept small fast", 2, 2),  # the first round does not count
        ("warm small fast", 3, 5),
    ],
)
def test_a_cell_that_is_read_for_facts_runs_as_often_as_they_need(
    tmp_path: Path, claim: str, short: int, on_cpu: int
) -> None:
    study = problem(tmp_path, f"*{claim}")
    assert len(plan(study, SHORT, "cuda")) == short
    assert len(plan(study, SHORT, "cpu")) == short
    whole = Selected(("fast",), ("small",), ("timing",))
    assert len(plan(study, whole, "cuda")) == 5
    assert len(plan(study, whole, "cpu")) == on_cpu


def test_claims_that_need_a_gpu_need_no_cells_on_a_cpu(tmp_path: Path) -> None:
    claims = ("*bytes small fast", "*launches small slow", "*time huge fast", "*bytes big best")
    study = problem(tmp_path, *claims)
    assert names(study, SHORT, "cpu") == ["small.fast.timing.r0", "big.best.timing.r0"]
    with pytest.raises(UsageError, match="every headline claim of 9-example needs more than a CPU"):
        plan(problem(tmp_path, "*time huge fast", "bytes small fast"), SHORT, "cpu")


def test_cells_can_be_picked_by_name(tmp_path: Path) -> None:
    study = problem(tmp_path, "*time small fast slow", "kernels small best")
    picked = frozenset({"small.slow.timing.r1", "small.fast.timing.r0"})
    assert names(study, Selected(short=True, names=picked)) == [
        "small.fast.timing.r0",
        "small.slow.timing.r1",
    ]


def test_an_advice_needs_every_alternative_that_it_has_to_beat(tmp_path: Path) -> None:
    text = MANIFEST.replace("cases:", "  odd: {label: Odd, environment: plain}\ncases:")
    study = load(written(tmp_path, f"{text}claims:\n{ADVICE}"))
    cells = plan(study, SHORT, "cuda")
    timed = {(cell.case, cell.variant) for cell in cells if cell.capture == "timing"}
    assert timed == {(case, name) for case in ("small", "big") for name in ("slow", "fast", "best")}
    costs = {(cell.case, cell.variant) for cell in cells if cell.capture == "torch"}
    assert costs == {(case, name) for case in ("small", "big") for name in ("slow", "best")}
