"""What a cell states, with the GPU's part played: every metric that a claim names is among it."""

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.hgemm import COUNTED, ELSEWHERE, TOLD, TURNS, Cell
from tests.support.manifests import bound_claims


def run(contest: ModuleType, problem: Problem, variant: str, case: str, capture: str) -> Cell:
    """Run a cell of the plan, as repro.py would."""
    chosen = Selected((variant,), (case,), (capture,), 1 if capture == "timing" else None)
    (planned,) = plan(problem, chosen, "cuda")
    cell = Cell(planned.params)
    if planned.params["workload"] == "sizes":
        contest.sizes(cell)
    elif planned.params["workload"] == "sanitize":
        importlib.import_module("sanitize").cell(cell)
    elif planned.params["workload"] in ELSEWHERE:
        module, name = ELSEWHERE[planned.params["workload"]]
        getattr(importlib.import_module(module), name)(cell)
    elif planned.params["contender"] == "all":
        contest.square(cell)
    else:
        contest.alone(cell)
    assert cell.alone == 0
    return cell


def sides(problem: Problem) -> Iterator[tuple[str, str, str]]:
    """Yield every variant, case and metric that a claim looks at, once."""
    read = {place for claim in bound_claims(problem) for place in claim.sides}
    yield from sorted((variant, case, metric) for metric, variant, case in read)


def test_what_claims_look_at_is_stated(contest: ModuleType, problem: Problem) -> None:
    cells: dict[str, Cell] = {}
    looked = 0
    for variant, case, name in sides(problem):
        metric = problem.metric(name)
        if variant != "in-turn" or problem.cases[case].params["workload"] == "stack":
            continue
        if case not in cells:
            cells[case] = run(contest, problem, variant, case, "timing")
        cell, looked = cells[case], looked + 1
        if metric.sample:
            turns = problem.cases[case].params["turns"]
            assert len(cell.samples[metric.region or "", metric.sample]) == turns, name
        else:
            ending = f".{metric.region}" if metric.region else ""
            assert f"{metric.fact}{ending}" in cell.facts, name
    assert looked >= 20
    assert set(cells) == {
        *("square-1024", "square-4096", "square-8192", "short-k", "sizes"),
        *("sanitized", "sustained-1024", "sustained-4096", "sustained-8192", "scaled"),
        *("scaled-sanitized", "portable-4096"),
    }


def test_each_contender_is_a_region_with_what_it_is(contest: ModuleType, problem: Problem) -> None:
    cell = run(contest, problem, "in-turn", "square-4096", "timing")
    contenders = problem.cases["square-4096"].params["contenders"]
    assert {region for region, _ in cell.samples} == set(contenders)
    for step in (name for name in contenders if name[0] in "ph" and name[1:].isdigit()):
        for fact in ("registers", "spill_bytes", "shared_bytes", "tile", "stages", "error_ratio"):
            assert f"{fact}.{step}" in cell.facts
    assert cell.facts["flop"] == 2 * 4096**3
    assert cell.facts["io_bytes"] == 3 * 2 * 4096**2
    assert cell.facts["choice_of_best"] == "what best is"
    assert cell.facts["kernel.torch"] == "nvjet"
    told = {metric for _, metric in cell.samples}
    assert not told & {"power_w", "energy"}  # the batch was too short


def test_long_batches_tell_power_and_share_of_the_tensor_cores(
    contest: ModuleType, problem: Problem
) -> None:
    cell = run(contest, problem, "in-turn", "sustained-8192", "timing")
    turns = problem.cases["sustained-8192"].params["turns"]
    assert cell.samples["best", "power_w"] == [700.0] * turns
    assert cell.samples["best", "energy"] == pytest.approx([700.0 * 202e-6 * 1e3] * turns)  # mJ
    rate = 2 * 8192**3 / 202e6
    assert cell.samples["best", "tflops"] == pytest.approx([rate] * turns)
    share = 1e8 * rate / (COUNTED * 132 * 4096)
    assert cell.samples["best", "of_tensor_rate"] == pytest.approx([share] * turns)
    assert cell.samples["best", "sm_mhz"] == [COUNTED] * turns
    assert cell.samples["best", "nvml_mhz"] == [TOLD] * turns


def test_the_control_is_compared_as_the_others_and_its_kernels_are_named(
    contest: ModuleType, problem: Problem
) -> None:
    cell = run(contest, problem, "in-turn", "sustained-1024", "timing")
    assert {region for region, _ in cell.samples} == {"torch", "fp32", "cublaslt", "best"}
    assert cell.facts["kernel.fp32"] == "nvjet"


def test_each_shape_is_a_region_and_all_together_are_one(
    contest: ModuleType, problem: Problem
) -> None:
    cell = run(contest, problem, "in-turn", "sizes", "timing")
    shapes = problem.cases["sizes"].params["shapes"]
    regions = ["x".join(map(str, shape)) for shape in shapes]
    assert {region for region, _ in cell.samples} == {*regions, "geomean"}
    # 202 µs, and waiting 203, against 200 and 201: the better baseline is torch everywhere.
    for region in (*regions, "geomean"):
        for metric, us in (("of_better", 202), ("of_better_waiting", 203)):
            assert cell.samples[region, metric] == pytest.approx([100 * 200 / us] * TURNS)
    assert not any("waiting_tflops" in metric for _, metric in cell.samples)
    assert all(f"choice_of_best.{region}" in cell.facts for region in regions)
    assert "all_spill_bytes" not in cell.facts  # of steps that were not looked at


def test_what_is_read_too_early_is_added_up_over_all_but_the_libraries(
    contest: ModuleType, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def contender(name: str, *_: Any) -> tuple[Any, str]:
        return (lambda *_: name), ""

    def chained(run: Any, element: str) -> int:
        seen.append((run(), element))
        return {"h9": 3, "waiting": 4}.get(run(), 0)

    monkeypatch.setattr(contest, "contender", contender)
    monkeypatch.setattr(contest, "chained", chained)
    cell = run(contest, problem, "in-turn", "sustained-1024", "timing")
    assert seen == [("best", "bf16")]
    assert cell.facts["out_of_order"] == 0
    cell = run(contest, problem, "in-turn", "square-1024", "timing")
    steps = ("h6", "h7", "h8", "h9", "h10", "best", "waiting")
    assert seen[1:] == [(name, "bf16") for name in steps]
    assert cell.facts["out_of_order"] == 3 + 4


def test_what_a_cell_launches_is_compiled_side_by_side(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    contenders, asked = module("contenders"), []
    monkeypatch.setattr(contenders, "build_all", lambda steps, _cache: asked.extend(steps))
    shapes = [(4096, 4096, 4096), (4096, 4096, 14336), (8192, 8192, 8192)]
    contenders.build_kernels(["torch", "p0", "h9", "best", "waiting"], "bf16", shapes)
    chosen = [module("dispatch").choose(*shape).name for shape in shapes[1:]]
    # The first two shapes have one choice.
    expected = [("p0_wmma", False), ("h9_pdl", True)]
    expected += [(name, pdl) for pdl in (True, False) for name in chosen]
    assert [(step.name, step.pdl) for step, _ in asked] == expected
    assert {element for _, element in asked} == {"bf16"}


def test_one_contender_alone_is_handed_to_the_capture(
    contest: ModuleType, problem: Problem
) -> None:
    for variant in ("torch", "p4", "h9"):
        cell = run(contest, problem, variant, "square-4096", "ncu")
        assert cell.measured == [variant]
        assert cell.facts["io_bytes"] == 3 * 2 * 4096**2
        assert ("registers" in cell.facts) == (variant != "torch")


def test_what_counters_are_divided_by_is_stated_beside_them(
    contest: ModuleType, problem: Problem
) -> None:
    cell = run(contest, problem, "h7", "square-4096", "ncu")
    per = {metric.per for metric in problem.metrics.values() if metric.per}
    assert per and per <= set(cell.facts)
    # Four tensor cores of 132 multiprocessors, 1024 operations a cycle each.
    assert cell.facts["least_tensor_cycles"] == pytest.approx(2 * 4096**3 / 132 / 1024)


def test_a_wrong_product_ends_the_process_with_one_line(
    contest: ModuleType, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = contest.errors

    def wrong(run: object, element: str, shape: tuple[int, int, int]) -> Any:
        found = good(run, element, shape)
        fields = {**vars(found), "wrong": "7 of 9 wrong"}
        return found if shape == contest.RAGGED else type(found)(**fields)

    monkeypatch.setattr(contest, "errors", wrong)
    with pytest.raises(SystemExit) as caught:
        run(contest, problem, "h3", "square-4096", "ncu")
    told = str(caught.value.code)
    assert told.startswith("h3: wrong product, 4096x4096x4096: error 1.00e-03 (cuBLAS 1.00e-03)")
    assert told.endswith("; 7 of 9 wrong")
    assert "\n" not in told
