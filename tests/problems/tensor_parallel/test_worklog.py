"""The worklog on planted measurements: all of it is told, and no sentence outlives its claim."""

from typing import Any

import pytest

from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.report.page import Page
from harness.report.worklog import render
from tests.support import conclusions, planted_study
from tests.support.small_evidence import Row, tables
from tests.support.tensor_parallel import FOLDER

pytestmark = pytest.mark.slow

ALONE_MS, REDUCES, FLOOR_US = 1.8, 16, 0.9
EXPOSED_US = {
    "nccl": 18.0,
    "nccl-graph": 16.0,
    "overlap": 20.0,
    "one-shot": 4.5,
    "two-shot": 6.5,
    "packed": 2.6,
    "fused": 1.0,
}
ANY_RANKS = (
    "one-shot",
    "two-shot",
    "ring",
    "tree",
    "doubling",
    "packed-one-shot",
    "packed-two-shot",
)
MODEL_US_OF_FOUR = 8.0
NCCL_PARTS = {"launched": 0.7, "short": 0.7, "fp32": 1.0, "copied": 1.2, "outside": 1.0}
NCCL_PARTS |= {"as_12": 0.7, "ll": 0.8, "registered": 0.6}
TEMPLATE = FOLDER / "worklog.md.j2"

Series = dict[tuple[str, str], float]


def step_ms(name: str) -> float:
    return ALONE_MS + REDUCES * EXPOSED_US[name] / 1e3


def measured(planned: Cell) -> tuple[Series, dict[str, float]]:
    """Return samples by region and metric, and facts, of a cell as the scripts would."""
    if planned.case == "sweep":
        return swept(planned.params["sizes_kb"]), crossing("packed-to-one-shot")
    if planned.case == "others":
        return beside_others(planned.params["sizes_kb"])
    if planned.case == "ranks-4":
        return over_four(planned.params["sizes_kb"]), crossing("any-one-shot-to-any-two-shot")
    if planned.case.startswith("in-turn"):
        return taken_in_turn(), stated(planned.params["batch"])
    ms = step_ms(planned.variant)
    waited = 2 * ms if planned.variant == "nccl" else ms  # for the host, which launches it
    return {("step", "wall_time"): waited, ("step", "gpu_time"): ms}, {"error.step": 0.01}


def crossing(pair: str) -> dict[str, float]:
    names = ("crossing_kib", "crossing_model_2", "crossing_model_4", "crossing_model_8")
    return {f"{name}.{pair}": 400.0 for name in names}


def over_four(sizes_kb: list[int]) -> Series:
    names = [
        "nccl",
        "nccl_launched",
        "nccl_ll",
        "nccl_registered",
        "symm_one_shot",
        "symm_two_shot",
    ]
    names += [f"any_{name.replace('-', '_')}" for name in ANY_RANKS]
    found: Series = {}
    for kb in sizes_kb:
        region = f"{kb}KiB"
        found |= {(region, f"{name}_us"): MODEL_US_OF_FOUR for name in names}
        found |= {(region, "best_own_us"): 4.5, (region, "best_of_libraries"): 0.5}
    return found


def linked() -> Series:
    known = {"signal_us": 0.85, "fenced_us": 2.2, "gb_s": 380.0}
    return {("link", name): value for name, value in known.items()}


def taken_in_turn() -> Series:
    found: Series = linked() | {("alone", "step_ms"): ALONE_MS}
    for name, us in EXPOSED_US.items():
        ms = step_ms(name)
        found |= {
            (name, "step_ms"): ms,
            (name, "exposed_us"): us,
            (name, "exposed_over_floor"): us / FLOOR_US,
            (name, "exposed_share"): 100 * (ms - ALONE_MS) / ms,
            (name, "of_nccl_graph"): ms / step_ms("nccl-graph"),
        }
    return found


def stated(batch: int) -> dict[str, float]:
    facts: dict[str, float] = {"all_reduces": REDUCES, "message_bytes": 16384 * batch}
    facts |= {"floor_us": FLOOR_US, "straggler_share": 0.4, "clock_difference": 0.2}
    for which in ("first", "second"):
        facts |= {f"alone_ms.{which}": ALONE_MS, f"sm_mhz.{which}": 1755.0}
    for name in EXPOSED_US:
        facts |= {f"error_over_nccl.{name}": 1.0, f"differs_from_nccl.{name}": 0.0}
    for kind in ("one-shot", "two-shot", "packed"):
        facts |= {f"model_ms_4.{kind}": 1.9, f"model_ms_8.{kind}": 2.0}
    return facts


def swept(sizes_kb: list[int]) -> Series:
    found = linked() | {("8KiB-1MiB", "best_of_nccl"): 0.4}
    for kb in sizes_kb:
        floor = FLOOR_US + kb * 1.024 / 380
        values = {"floor_us": floor, "nccl_us": 12 + floor, "packed_us": 1.5 + 2 * floor}
        values |= {"one_shot_us": 3 + floor, "two_shot_us": 5 + floor, "best_of_nccl": 0.4}
        values["link_share"] = 85 if kb > 1 << 12 else 20
        found |= {(f"{kb}KiB", name): value for name, value in values.items()}
    return found


def beside_others(sizes_kb: list[int]) -> tuple[Series, dict[str, float]]:
    found = swept(sizes_kb)
    facts = crossing("any-one-shot-to-any-two-shot")
    for kb in sizes_kb:
        region = f"{kb}KiB"
        nccl = found[region, "nccl_us"]
        for kind, part in NCCL_PARTS.items():
            found[region, f"nccl_{kind}_us"] = part * nccl
        found[region, "symm_one_shot_us"], found[region, "symm_two_shot_us"] = 5.0, 7.0
        found[region, "best_of_libraries"] = 0.5
        for name in ANY_RANKS:
            found[region, f"any_{name.replace('-', '_')}_us"] = 6.0
            facts |= {f"model_us_{gpus}.{region}-{name}": 2.0 * gpus for gpus in (2, 4, 8)}
    return found, facts


@pytest.fixture(scope="module")
def evidence(problem: Problem) -> Tables:
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": []}
    for planned in plan(problem, Selected(rounds=3), "cuda"):
        found["cells"].append(planted_study.cell(planned))
        if planned.capture != "timing":
            continue
        samples, facts = measured(planned)
        found["facts"] += planted_study.facts(planned, facts)
        for (region, metric), value in samples.items():
            near = [value * (1 + 1e-4 * (at % 3 - 1)) for at in range(20)]
            found["samples"] += planted_study.samples(planned, region, metric, near)
    return tables(**found)


@pytest.fixture
def page(problem: Problem, evidence: Tables) -> Page:
    return planted_study.page_of(problem, evidence)


def test_everything_that_the_scripts_state_is_told(page: Page) -> None:
    assert {one.claim.id: one.verdict for one in page.results} == {
        claim.id: "reproduced" for claim in page.problem.claims
    }
    text = render(TEMPLATE, page)
    missing = [line for line in text.splitlines() if "not measured" in line.lower()]
    assert [line.partition(".")[0] for line in missing] == [
        # No timeline was planted.
        "*GPU timeline of one step of nccl-graph and overlap: not measured on this target",
        "**Modelled, not measured",
        "*Cost of the captures: not measured on this target",
    ]


@pytest.mark.parametrize("verdict", ["refuted", "undecided", "not measured"])
def test_no_sentence_concludes_what_its_claim_does_not_bear_out(
    page: Page, verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = conclusions.blocks(TEMPLATE, page, monkeypatch)
    assert {id_ for block in blocks for id_ in block.ids} < {one.claim.id for one in page.results}
    conclusions.assert_each_follows_its_claims(TEMPLATE, page, blocks, verdict)
