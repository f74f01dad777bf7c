"""Findings on serving load, on programs with a cause and their twins without it."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from harness.analysis.diagnose import conclude, known_findings, serving_view
from harness.analysis.diagnose.finding import Finding
from harness.analysis.diagnose.serving_view import ServingView
from harness.evidence.capture import Capture
from harness.probe.load.workload import at_once
from tests.support.serving_programs import (
    AHEAD,
    ESSAYS,
    IN_TURN,
    LONG,
    PAIRS,
    RAGGED,
    SHORT,
    STATIC,
    Device,
    Engine,
    Program,
    schedule,
)

MANY = IN_TURN | {"most_running": 100}
CHUNKED = [name for name in PAIRS if name.startswith("prefill-interference")]


def findings(capture: Capture) -> tuple[Finding, ...]:
    return conclude.diagnose([capture]).findings


def view_of(capture: Capture) -> ServingView:
    return serving_view.views([capture])[0]


@cache
def captured(name: str, *, sick: bool) -> Capture:
    with TemporaryDirectory() as folder:
        return PAIRS[name][not sick].capture(Path(folder))


@pytest.mark.parametrize("name", PAIRS)
def test_a_cause_is_named_first_and_its_twin_is_healthy(name: str) -> None:
    sick, twin = (findings(captured(name, sick=sick)) for sick in (True, False))
    assert sick[0].id == name.partition(":")[0]
    assert [each.id for each in twin] == ["healthy"]


def test_every_finding_has_three_programs_and_more() -> None:
    causes = [name.partition(":")[0] for name in PAIRS]
    assert min(map(causes.count, causes)) >= 3
    assert set(causes) == known_findings.SERVING.kinds().keys()


@pytest.mark.parametrize(
    ("sick", "without", "within"),
    [
        (Program(at_once(), SHORT, switches=IN_TURN, device=Device(planned=60)), AHEAD, 0.05),
        (Program(at_once(), RAGGED, switches=STATIC | {"most_running": 25}), MANY, 0.1),
        (
            Program(at_once(), ESSAYS, blocks=1000, switches=IN_TURN | {"reservation": "whole"}),
            IN_TURN | {"most_running": 44},
            0.05,
        ),
        (Program(at_once(), SHORT, switches=IN_TURN | {"most_running": 16}), MANY, 0.2),
    ],
    ids=["scheduler-bubble", "static", "reserved", "limit"],
)
def test_a_gain_is_what_the_load_takes_less_without_the_cause(
    sick: Program, without: dict[str, object], within: float, tmp_path: Path
) -> None:
    """100 requests are there at once: then the engine's time is what its steps take."""
    both = (replace(sick, number=100, switches=each) for each in (sick.switches, without))
    capture, mended = (each.capture(tmp_path) for each in both)
    taken = 1 - view_of(mended).total_ns / view_of(capture).total_ns
    assert findings(capture)[0].gain == pytest.approx(taken, abs=within)


@pytest.mark.parametrize("offload", [False, True])
def test_a_gain_of_the_cache_is_that_of_twice_its_blocks(offload: bool, tmp_path: Path) -> None:
    switches = IN_TURN | {"offload": offload}
    small = Program(at_once(), LONG, blocks=800, host_blocks=5000, switches=switches)
    capture, large = (each.capture(tmp_path) for each in (small, replace(small, blocks=1600)))
    taken = 1 - view_of(large).total_ns / view_of(capture).total_ns
    gain = findings(capture)[0].gain
    assert gain is not None
    assert taken / 2 < gain < taken + 0.05  # preemptions that the larger cache avoids are not seen


@pytest.mark.parametrize("name", CHUNKED)
def test_the_advised_budget_meets_the_bound(name: str, tmp_path: Path) -> None:
    (sick, _), capture = PAIRS[name], captured(name, sick=True)
    (first, *_), view = findings(capture), view_of(capture)
    p99, usual, *_ = first.evidence
    assert p99.threshold == (sick.slo.itl_ms if sick.slo else pytest.approx(5 * usual.value))
    budget = int(re.findall(r"at most ([\d,]+) tokens per step", first.fix[0])[0].replace(",", ""))
    switches = sick.switches | {"chunked": True, "token_budget": budget}
    mended = view_of(replace(sick, switches=switches).capture(tmp_path))
    between = mended.gaps["itl_ns"].quantile(0.99)
    assert view.law is not None
    assert p99.threshold is not None
    assert between is not None
    assert between / 1e6 <= p99.threshold * (1 + view.law.error) < p99.value


def test_a_budget_that_computes_too_few_prompts_gives_way_to_engines_apart(tmp_path: Path) -> None:
    name = "prefill-interference: a bound of its own, bursts"
    program = PAIRS[name][0]
    busy = replace(program, slo=replace(program.slo, itl_ms=7.5)) if program.slo else program
    (first,) = findings(busy.capture(tmp_path))
    assert "computes prompts slower than they come" in first.fix[1]
    assert first.fix[0].startswith("engines of their own")


def test_what_is_computed_again_is_what_the_scheduler_gave_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preempt, lost = schedule.Scheduler._preempt, []

    def counted(scheduler: object, request: Any, plan: object) -> None:
        lost.append(request.computed)
        preempt(scheduler, request, plan)

    monkeypatch.setattr(schedule.Scheduler, "_preempt", counted)
    program = replace(PAIRS["kv-cache-pressure: computed again"][0], arrivals=at_once())
    capture = program.capture(tmp_path)
    (again,) = (
        each.value
        for each in findings(capture)[0].evidence
        if each.metric == "tokens computed again"
    )
    assert len(lost) > 5
    assert again == pytest.approx(100 * sum(lost) / capture.tables["load_steps"]["tokens"].sum())


@pytest.mark.parametrize("name", ["scheduler-bubble: a slow planner", *CHUNKED[1:]])
def test_an_engine_that_plans_ahead_is_told_by_its_first_tokens(name: str) -> None:
    for program, sick in zip(PAIRS[name], (True, False), strict=True):
        ahead = program.switches.get("ahead") is not False
        assert view_of(captured(name, sick=sick)).ahead is ahead


def test_a_step_of_a_planner_ahead_is_beside_what_it_computed() -> None:
    """The device's time, but for 0.1 ms that the host may take longer, is that of the plan."""
    view = view_of(captured("prefill-interference: chunks too large, ahead", sick=True))
    steps = view.steps.filter(pl.col("tokens") > 1000)
    least = Device().token * 1e3 * steps["tokens"]
    assert steps.height > 5
    assert (steps["period_ns"] >= least).all()
    assert (steps["period_ns"] < 1.2 * least).all()


@pytest.mark.parametrize(
    ("says", "advice"),
    [
        (("kind", "requests", "tokens", "kv_blocks"), "host_us and plan_us"),
        ((), "kind, requests and tokens"),
        (Program.says, "capture a timeline"),
    ],
)
def test_what_an_engine_does_not_say_is_asked_for(
    says: tuple[str, ...], advice: str, tmp_path: Path
) -> None:
    twin = replace(PAIRS["batch-underfilled: a low limit"][1], number=60, says=says)
    (finding,) = findings(twin.capture(tmp_path))
    assert finding.id == ("healthy" if says else "abstain")
    assert advice in finding.next[0]


def test_a_short_load_says_nothing(tmp_path: Path) -> None:
    short = replace(PAIRS["batch-underfilled: a low limit"][0], number=1)
    (finding,) = findings(short.capture(tmp_path))
    assert (finding.id, finding.next[0][:20]) == ("abstain", "record more requests")


def test_an_engine_that_names_nobody_it_admits_has_no_known_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Engine.step

    def silent(engine: Engine) -> object:
        return replace(step(engine), admitted=[], preempted=[])

    monkeypatch.setattr(Engine, "step", silent)
    limited = replace(PAIRS["batch-underfilled: a low limit"][0], number=60)
    (finding,) = findings(limited.capture(tmp_path))
    assert (finding.id, finding.confidence) == ("healthy", 0.6)
    assert any("whom it admitted" in each for each in finding.next)
