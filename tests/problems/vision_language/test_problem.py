"""The manifest: a ladder of single changes, and rivals for each advice."""

import itertools

from harness.problem.model import Problem
from harness.problem.plan import Selected, plan

LADDER = ("slow", "fast", "device", "threads", "pinned", "windows", "aligned", "graphs", "cached")
BRANCHES = {"compiled": "graphs", "batched": "graphs", "together": "batched"}


def test_each_rung_changes_one_switch(problem: Problem) -> None:
    pairs = [*itertools.pairwise(LADDER), *((rung, name) for name, rung in BRANCHES.items())]
    for before, after in pairs:
        old, new = (problem.variants[name].options for name in (before, after))
        assert old.keys() == new.keys()
        assert sum(old[key] != new[key] for key in old) == 1, after


def test_contenders_are_rungs_and_branches_name_what_they_change(problem: Problem) -> None:
    params = problem.cases["burst"].params
    assert list(params["contenders"])[: len(LADDER)] == list(LADDER)
    for case in ("burst", "llava", "clip", "same"):
        for name, switches in problem.cases[case].params["contenders"].items():
            assert switches == problem.variants[name].options, (case, name)
    above = dict(itertools.pairwise(reversed(params["contenders"])))
    assert {name: params["after"].get(name, above[name]) for name in BRANCHES} == BRANCHES


def test_advice_is_held_against_at_least_two_other_variants(problem: Problem) -> None:
    for advice in problem.advice:
        rivals = {
            name
            for name in problem.variants
            for case in advice.at
            if problem.covers("timing", name, case, "cuda")
            and name not in {advice.take, "in-turn", *advice.but}
        }
        assert len(rivals) >= 2, advice.id
        assert all(advice.but.values())


def test_a_cpu_checks_tokens_on_small_models(problem: Problem) -> None:
    cells = plan(problem, Selected(short=True), "cpu")
    assert [(cell.case, cell.variant) for cell in cells] == [("same", "check")]
    assert all(
        "tiny" in cell.params.get("model", "tiny") for cell in plan(problem, Selected(), "cpu")
    )


def test_a_clip_has_an_even_number_of_frames(problem: Problem) -> None:
    for case in problem.cases.values():
        assert case.params.get("frames", 0) % 2 == 0
