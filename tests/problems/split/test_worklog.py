"""The worklog on planted measurements: all of it is told, and no sentence outlives its claim."""

import dataclasses
from collections.abc import Collection
from typing import Any

import pytest

from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.report.page import Page
from harness.report.worklog import render
from tests.support import conclusions, planted_study
from tests.support.small_evidence import Row, tables
from tests.support.split_study import FOLDER

pytestmark = pytest.mark.slow

TEMPLATE = FOLDER / "worklog.md.j2"
STEP_MS = {
    "whole": 200.0,
    "tensor": 120.0,
    "tensor-symmetric": 110.0,
    "sequence": 118.0,
    "sequence-async": 106.0,
    "ring": 112.0,
    "ring-torch": 125.0,
    "ulysses": 114.0,
    "experts": 108.0,
    "data": 105.0,
    "data-large": 107.0,
    "fsdp": 104.0,
    "fsdp-ahead": 103.0,
    "fsdp-keep": 103.5,
    "naive": 210.0,
    "gpipe": 118.0,
    "1f1b": 116.0,
    "interleaved": 112.0,
    "zero": 109.0,
}
PART_MS = 102.0
DECODE_MS = 150.0
"""One sequence's decode on one GPU takes less than that of many: so the memory has a rate."""
SKEWED_MS = 160.0
"""Expert parallelism's prefill where a router prefers the experts of one GPU."""
MEMORY_GB = {"data": 30.0, "experts": 16.0, "fsdp": 18.0, "gpipe": 40.0, "1f1b": 20.0}
LINK = (
    "all_reduce_us",
    "all_gather_us",
    "reduce_scatter_us",
    "all_to_all_us",
    "send_us",
    "uneven_us",
)
HIDDEN_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "send")
IN_GRAPH = ("all_reduce_in_graph_us", "one_shot_in_graph_us")

Series = dict[tuple[str, str], float]


def measured(planned: Cell) -> tuple[Series, dict[str, float]]:
    """Return samples by region and metric, and facts, of a cell as the scripts would."""
    regions = ("16KiB", "64KiB", "1024KiB")
    found: Series = {(region, kind): 20.0 for region in regions for kind in LINK}
    found |= {(region, kind): 5.0 for region in regions for kind in IN_GRAPH}
    found["1KiB", "counts_us"] = 45.0
    facts: dict[str, float] = {"link_gb_s": 350.0}
    facts |= {f"loss.{kind}": 45.0 for kind in HIDDEN_KINDS}
    for name, work in planned.params["works"].items():
        found[f"{name}-worst", "prediction_error"] = 6.0
        facts[f"ways_off_law.{name}"] = 0
        for way in work["ways"]:
            samples, stated = of_way(f"{name}-by-{way}", way)
            found |= samples
            facts |= stated
    lengths = planned.params.get("sweep", {}).get("lengths", [])
    for at, length in enumerate(lengths):
        region, ring, ulysses = f"attention-{length}", 1.0 + at, 0.9 + 1.1 * at
        found |= {(region, "ring_ms"): ring, (region, "ring_predicted_ms"): ring}
        found |= {(region, "ulysses_ms"): ulysses, (region, "ulysses_predicted_ms"): ulysses}
        found[region, "ring_over_ulysses"] = ring / ulysses
    if planned.case == "mixtral-skew":
        facts |= {"skew_crossover_measured": 1.06, "skew_crossover_predicted": 1.08}
        facts["skew_crossover_error"] = 1.9
    if lengths:
        facts |= {"crossover_measured": 1900, "crossover_predicted": 2000, "crossover_error": 5.3}
    return found, facts


def of_way(region: str, way: str) -> tuple[Series, dict[str, float]]:
    unlike = {"decode-b1-by-whole": DECODE_MS, "skew-100-by-experts": SKEWED_MS}
    ms = unlike.get(region, STEP_MS[way])
    found = {(region, "step_ms"): ms, (region, "part_ms"): PART_MS}
    facts = {f"sent_mb.{region}": 400.0, f"law_mb.{region}": 400.0, f"error.{region}": 0.004}
    facts |= {f"memory_gb.{region}": MEMORY_GB.get(way, 25.0), f"collectives.{region}": 8.0}
    if way != "whole":
        share = 100 * (ms - PART_MS) / ms
        found |= {(region, "exposed_share"): share, (region, "not_own_work"): share}
        found[region, "prediction_error"] = 4.0
        facts |= {f"comm_ms.{region}": 12.0, f"floor_ms.{region}": 9.0}
        facts[f"slowed_ms.{region}"] = 3.5
        facts |= {f"predicted_ms.{region}": 1.02 * ms, f"bubble_law.{region}": 10.0}
    if way == "experts":
        facts |= {f"imbalance.{region}": 1.02, f"waits_ms.{region}": 0.3}
    return found, facts


@pytest.fixture(scope="module")
def evidence(problem: Problem) -> Tables:
    return evidence_of(problem)


def evidence_of(problem: Problem, without: Collection[str] = ()) -> Tables:
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": []}
    for planned in plan(problem, Selected(rounds=3), "cuda"):
        found["cells"].append(planted_study.cell(planned))
        if planned.capture != "timing" or planned.case in without:
            continue
        samples, facts = measured(planned)
        facts = {name: each for name, each in facts.items() if name.split(".")[0] not in without}
        found["facts"] += planted_study.facts(planned, facts)
        for (region, metric), value in samples.items():
            if metric in without:
                continue
            near = [value * (1 + 1e-4 * (at % 3 - 1)) for at in range(20)]
            found["samples"] += planted_study.samples(planned, region, metric, near)
    return tables(**found)


@pytest.fixture
def page(problem: Problem, evidence: Tables) -> Page:
    return planted_study.page_of(problem, evidence)


def test_everything_that_the_scripts_state_is_told(page: Page, problem: Problem) -> None:
    on_gpus = [claim.id for claim in problem.claims if not claim.id.startswith("law-cpu-")]
    verdicts = {one.claim.id: one.verdict for one in page.results}
    assert {name: verdicts[name] for name in on_gpus} == dict.fromkeys(on_gpus, "reproduced")
    text = render(TEMPLATE, page)
    missing = [
        line
        for line in text.partition("## Claims")[0].splitlines()
        if "not measured" in line.lower() and "GPU timeline" not in line
    ]
    assert missing == []


def test_a_decode_is_predicted_from_collectives_in_a_graph_where_they_were_timed(
    problem: Problem, page: Page
) -> None:
    told = render(TEMPLATE, page)
    assert "| 1024 KiB | 20 µs | 5 µs | 5 µs |" in told
    assert "from collectives in a CUDA graph" in told
    before = planted_study.page_of(problem, evidence_of(problem, IN_GRAPH))
    untold = render(TEMPLATE, before)
    assert "a prediction of decode from them is too long" in untold
    assert "one-shot in a graph" not in untold
    assert "figures/ways.svg" in told
    assert "map of the ways that are predicted to be the fastest: not measured" in untold
    assert "predictions of the map: not measured" in untold


def test_what_hidden_collectives_cost_is_told_where_it_was_measured(
    problem: Problem, page: Page
) -> None:
    told = render(TEMPLATE, page)
    assert "beside an all-reduce takes longer by 45% of what the all-reduce takes alone" in told
    assert "| own work slowed, predicted |" in told
    before = planted_study.page_of(problem, evidence_of(problem, ["loss", "slowed_ms"]))
    untold = render(TEMPLATE, before).partition("## Claims")[0]
    assert "own work slowed" not in untold
    assert "hidden is not free" not in untold


def test_what_the_mixture_s_own_cases_show_is_told_with_them_alone(
    problem: Problem, page: Page
) -> None:
    cases = ("mixtral-skew", "mixtral-train")
    without = planted_study.page_of(problem, evidence_of(problem, cases))
    told, untold = (render(TEMPLATE, each) for each in (page, without))
    assert "a mixture of experts in training, an optimizer" in untold
    told, untold = (each.partition("## 1.")[2].partition("## Claims")[0] for each in (told, untold))
    for part in ("### In training", "### A router that prefers some experts", "`train-8x7b-by-"):
        assert part in told
        assert part not in untold
    assert untold.count("not measured") == told.count("not measured")


@pytest.mark.parametrize("verdict", ["refuted", "not measured"])
def test_no_sentence_concludes_what_its_claim_does_not_bear_out(
    page: Page, verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = conclusions.blocks(TEMPLATE, page, monkeypatch)
    assert {id_ for block in blocks for id_ in block.ids} <= {one.claim.id for one in page.results}
    every = {one.claim.id for one in page.results}
    flipped = [dataclasses.replace(one, verdict=verdict) for one in page.results]
    text = render(TEMPLATE, dataclasses.replace(page, results=flipped, figures={}))
    assert len(blocks) >= 10
    for block in blocks:
        assert set(block.ids) <= every
        assert block.body not in text
