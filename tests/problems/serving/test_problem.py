"""The manifest: a ladder of single changes, and loads that their caches can serve to the end."""

import dataclasses
import itertools
import re
from types import ModuleType
from typing import Any

import pytest

from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan

LADDER = (
    "static",
    "continuous",
    "paged",
    "chunked",
    "graphs",
    "ahead",
    "fused",
    "prefixes",
    "offload",
)
AT_BUDGETS = ("whole", "budget-1056", "budget-544", "budget-160")


def test_each_rung_changes_one_switch(problem: Problem) -> None:
    options = [problem.variants[name].options for name in LADDER]
    for before, after in itertools.pairwise(options):
        assert sum(before[key] != after[key] for key in before) == 1
    for name in AT_BUDGETS:
        own, rung = problem.variants[name].options, options[LADDER.index("ahead")]
        assert sum(own[key] != rung[key] for key in rung) == 1
    eager, captured = (problem.variants[name].options for name in ("budget-160", "mixed-160"))
    assert {key for key in eager if eager[key] != captured[key]} == {"mixed_graphs"}


def test_releases_differ_in_nothing_but_their_lock(problem: Problem) -> None:
    cells = plan(problem, Selected(cases=("versions",)), "cpu")
    releases = {cell.variant: cell for cell in cells if cell.variant != "generate-no-cudnn"}
    assert sorted(releases) == list(releases), "bisecting follows the order of the manifest"
    assert all(cell.params == cells[0].params for cell in cells)
    assert all(cell.variables == cells[0].variables for cell in cells)
    pinned = [pins(problem, cell.environment) for cell in releases.values()]
    assert [own.pop("transformers") for own in pinned] == [
        name.removeprefix("generate-").removesuffix("-no-cudnn") for name in releases
    ]
    assert all(own == pinned[0] for own in pinned)


def pins(problem: Problem, environment: str) -> dict[str, str]:
    """Return the version of each package of an environment's lock."""
    lock = problem.environments[environment].lock
    assert lock
    text = (problem.folder / lock).read_text()
    return dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE))


def test_all_contenders_are_rungs(problem: Problem) -> None:
    for name, switches in problem.cases["decode"].params["contenders"].items():
        rung = problem.variants["chunked" if name == "eager" else name].options
        assert all(rung[key] == value for key, value in switches.items())


def test_advice_leaves_out_only_what_it_names(problem: Problem) -> None:
    for advice in problem.advice:
        assert isinstance(advice, Advice)
        assert all(reason for reason in advice.but.values())
        rivals = [
            name
            for name in problem.variants
            for case in advice.at
            if problem.covers("load", name, case, "cuda") and name not in {advice.take, *advice.but}
        ]
        assert len(set(rivals)) >= 2, advice.id


def test_a_cpu_compares_static_with_continuous_and_checks_tokens(problem: Problem) -> None:
    cells = plan(problem, Selected(short=True), "cpu")
    assert {(cell.case, cell.variant) for cell in cells} == {
        ("ragged", "static"),
        ("ragged", "continuous"),
        ("tokens", "check"),
    }
    assert all("tiny" in cell.params["shape"] for cell in plan(problem, Selected(), "cpu"))


SERVED = [
    ("at-once", "chunked", "cuda"),
    ("ragged", "static", "cpu"),
    ("ragged", "continuous", "cpu"),
    ("ragged", "continuous", "cuda"),
    ("arrivals", "static-16", "cuda"),
    ("tight", "continuous", "cuda"),
    ("tight", "offload", "cuda"),
    ("shared-prefix", "prefixes", "cuda"),
]


@pytest.mark.parametrize(("case", "variant", "device"), SERVED)
def test_the_cache_serves_every_request_to_its_end(
    problem: Problem, modules: dict[str, ModuleType], case: str, variant: str, device: str
) -> None:
    served = simulated(problem, modules, case, variant, device)
    assert served["ended"] == served["sent"]
    assert served["free"] == served["blocks"]
    assert (served["preempted"] > 0) == (case == "tight" and variant != "continuous")


def simulated(
    problem: Problem, modules: dict[str, ModuleType], case: str, variant: str, device: str
) -> dict[str, int]:
    """Plan all steps of a load that is due at once; every step's tokens come at once."""
    small = problem.cases[case].on_cpu if device == "cpu" else {}
    params = problem.cases[case].params | small | problem.variants[variant].options
    schedule, options = (modules[f"workloads.engine.{name}"] for name in ("schedule", "options"))
    names = {field.name for field in dataclasses.fields(options.Options)}
    switches = options.Options(**{key: params[key] for key in params if key in names})
    scheduler = schedule.Scheduler(
        switches, params["blocks"], params.get("host_blocks", 0) if switches.offload else 0
    )
    sent = modules["loads"].requests(params, 1000)
    for one in sent:
        assert len(one.prompt) + one.most_new <= params["most_tokens"]
        scheduler.submit(schedule.Request(one.name, one.prompt, one.most_new))
    counted = {"sent": len(sent), "ended": 0, "preempted": 0}
    while scheduler.waiting or scheduler.running:
        plan = scheduler.plan()
        assert plan.rows, "nothing runs, and requests wait"
        counted["preempted"] += len(plan.preempted)
        counted["ended"] += taken(scheduler, plan)
    return counted | {"free": scheduler.blocks.free, "blocks": params["blocks"]}


def taken(scheduler: Any, plan: Any) -> int:
    """Read a step's tokens; return how many requests ended with them."""
    ended = 0
    for row in plan.rows:
        if row.samples and not row.request.ended:
            row.request.output.append(1)
            if len(row.request.output) == row.request.most_new:
                scheduler.end(row.request)
                ended += 1
    return ended


def test_requests_of_a_case_are_the_same_each_time(
    problem: Problem, modules: dict[str, ModuleType]
) -> None:
    params = problem.cases["shared-prefix"].params
    first, second = (modules["loads"].requests(params, 500) for _ in range(2))
    assert first == second
    assert len({tuple(one.prompt[: params["prefix"]]) for one in first}) == 1
    assert len({tuple(one.prompt) for one in first}) == params["requests"]
