"""The worklog on planted measurements: all of it is told, and no sentence outlives its claim."""

import re
from collections import Counter

import pytest

from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.report import own_sections
from harness.report.worklog import render
from tests.support import conclusions, planted_study
from tests.support.small_evidence import Row, tables
from tests.support.vision_language_study import FOLDER

pytestmark = pytest.mark.slow

TEMPLATE = FOLDER / "worklog.md.j2"
Samples = dict[tuple[str, str], float]

TTFT_MS = {
    "slow": 900.0,
    "fast": 700.0,
    "device": 600.0,
    "threads": 430.0,
    "pinned": 425.0,
    "windows": 200.0,
    "aligned": 185.0,
    "graphs": 178.0,
    "cached": 90.0,
    "compiled": 160.0,
    "batched": 250.0,
    "together": 290.0,
}
BEFORE = {"compiled": "graphs", "batched": "graphs", "together": "batched"}
STAGES = ("decode", "process", "copy", "encode_host", "encode_gpu", "encode_ahead")
PREFILL = {"prefill_host": 30.0, "prefill_gpu": 30.0, "prefill_ahead": 17.0}
WORKERS = {
    "alone": 50.0,
    "processes-all": 90.0,
    "processes-share": 200.0,
    "processes-one": 190.0,
    "threads-all": 80.0,
    "threads-one": 185.0,
}


def of_burst(rungs: list[str]) -> Samples:
    """Return the samples of a cell that measures these rungs in turn."""
    found: Samples = {("memory", "gb_s"): 4000.0, ("decode-new", "next_ms"): 60.0}
    found |= {("decode-known", "next_ms"): 26.0, ("decode-no-cudnn", "next_ms"): 25.0}
    found |= {("all-rows", "queue_error"): 8.0}
    found |= {("all-rows", "error"): 20.0, ("load", "busy"): 95.0, ("load", "burst_ms"): 300.0}
    found |= {("load", "alone_ms"): 285.0, ("load", "requests_per_s"): 26.0}
    above = dict(zip(rungs[1:], rungs, strict=False))
    for name in rungs:
        found |= {(name, "ttft_ms"): TTFT_MS[name], (name, "last_ms"): 2 * TTFT_MS[name]}
        slow = name in ("slow", "fast", "device", "threads", "pinned")
        found |= {(name, f"{stage}_ms"): 80.0 if slow else 15.0 for stage in STAGES}
        found |= {(name, f"{stage}_ms"): ms for stage, ms in PREFILL.items()}
        if name in above:
            gain = TTFT_MS[BEFORE.get(name, above[name])] - TTFT_MS[name]
            found |= {(name, "gain_ms"): gain, (name, "error"): 20.0}
        for at, thread in ((0, 1), (3, 0), (4, -1)):
            known = {"begun": 10.0 * at, "ended": 10.0 * at + 8, "thread": thread, "request": 0}
            found |= {(f"{name}.{at}", key): value for key, value in known.items()}
    return found


def sampled(planned: Cell) -> Samples:
    """Return a timing cell's samples by region and metric."""
    if planned.case == "workers":
        return {(name, "images_per_s"): value for name, value in WORKERS.items()}
    if planned.variant in TTFT_MS:
        return of_burst([planned.variant])
    return of_burst(list(planned.params["contenders"])) if planned.variant == "in-turn" else {}


def stated(planned: Cell) -> dict[str, float]:
    """Return a timing cell's facts."""
    if planned.case == "sizes":
        known = {"shapes": 40.0, "tokens": 1150.0, "more_tokens": -0.4, "padded": 8.0}
        policies = {
            f"{key}.{name}": value
            for key, value in known.items()
            for name in ("as-they-come", "buckets")
        }
        counts = {"static": 5.0, "automatic": 3.0, "dynamic": 1.0}
        compiled = {f"compiles.{name}": count for name, count in counts.items()}
        made = {"block": 70.0, "call": 3.0, "one-call": 59.0}
        compiled |= {"passes": 116.0} | {f"dispatched.{key}": one for key, one in made.items()}
        return policies | compiled | {f"compile_s.{name}": 4 * counts[name] for name in counts}
    if planned.variant == "check":
        known = {"pixel_levels": 2.1, "feature_error": 0.1, "differing": 0.0}
        return {f"{key}.worst": value for key, value in known.items()}
    facts = {"cores": 16.0}
    for name in planned.params.get("contenders", {}):
        facts |= {f"predicted_ms.{name}": 10.0, f"padded.{name}": 12.0, f"queued_ms.{name}": 90.0}
    return facts


@pytest.fixture(scope="module")
def evidence(problem: Problem) -> Tables:
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": []}
    for planned in plan(problem, Selected(), "cuda"):
        found["cells"].append(planted_study.cell(planned))
        if planned.capture != "timing":
            continue
        for (region, metric), value in sampled(planned).items():
            repeats = 1 if "." in region else 7
            found["samples"] += planted_study.samples(planned, region, metric, [value] * repeats)
        found["facts"] += planted_study.facts(planned, stated(planned))
    return tables(**found)


UNMEASURED = "not measured on this target.*"
UNPLANTED = {
    "*GPU timeline of one step of fast and graphs: not measured on this target.*": 1,
    "*Audit: not measured on this target.*": 2,
    "*Not measured on this target.*": 1,
    "*Cost of the captures: not measured on this target.*": 1,
}
"""What is drawn of captures, which the planted evidence has none of."""


def test_everything_that_was_measured_is_told(problem: Problem, evidence: Tables) -> None:
    page = planted_study.page_of(problem, evidence)
    wrong = {one.claim.id: one.verdict for one in page.results if one.verdict != "reproduced"}
    assert wrong == {"call-named": "not measured"}  # a trace's frames are not planted
    text = render(TEMPLATE, page)
    missing = [line for line in text.splitlines() if "not measured" in line.lower()]
    drawn = Counter(line for line in missing if line.lower().endswith(UNMEASURED))
    assert drawn == UNPLANTED
    told = [line for line in missing if line not in drawn]
    assert len(told) == 4, told  # of call-named the title, its sentence, its row; a reference
    assert "burst.svg" in "".join(page.figures)


def test_it_renders_where_nothing_was_measured(problem: Problem) -> None:
    text = render(TEMPLATE, planted_study.page_of(problem, tables()))
    assert not re.search(r"\d\s?(×|ms|GB/s)\b", text.split("\n## 4")[0].split("\n## 1")[1])
    assert "not measured" in text


def test_no_sentence_concludes_what_its_claim_does_not_bear_out(
    problem: Problem, evidence: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = planted_study.page_of(problem, evidence)
    silenced = ("gpu_timeline", "variants", "regions", "conditions", "diagnosis", "audit")
    blocks = conclusions.blocks(TEMPLATE, page, monkeypatch, silenced)
    conclusions.assert_each_follows_its_claims(TEMPLATE, page, blocks)


def test_a_rungs_spans_keep_their_thread_and_their_order(
    problem: Problem, evidence: Tables
) -> None:
    page = planted_study.page_of(problem, evidence)
    cell = page.metrics.capture_of("timing", "in-turn", "burst")
    assert cell is not None
    spans = own_sections.load(FOLDER).spans(cell["samples"], "graphs")
    assert [(each["stage"], each["thread"]) for each in spans] == [
        ("decode", 1),
        ("encode", 0),
        ("prefill", -1),
    ]
    assert [(each["x"], each["x2"]) for each in spans] == [(0, 8), (30, 38), (40, 48)]
