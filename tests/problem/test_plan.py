"""The plan: interleaved rounds, ids that change with their inputs, one tuning cell at a time."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from harness.engines import inside
from harness.ground.errors import ManifestError, UsageError
from harness.problem.manifest import find, load
from harness.problem.model import Problem
from harness.problem.plan import Able, Selected, plan
from tests.support.manifests import GOOD, written
from tests.support.paths import ROOT

PROBLEMS = ROOT / "problems"


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(PROBLEMS, "1")


def test_rounds_go_back_and_forth(problem: Problem) -> None:
    selected = Selected(("bf16-eager", "f8-0.13.0-eager"), ("stack-m1",), ("timing",), rounds=3)
    order = [(cell.round, cell.variant) for cell in plan(problem, selected, "cpu")]
    forth = ["bf16-eager", "f8-0.13.0-eager"]
    assert order == [
        *((0, name) for name in forth),
        *((1, name) for name in reversed(forth)),
        *((2, name) for name in forth),
    ]


@pytest.mark.parametrize(
    ("asked", "of_capture", "counts"),
    [
        (None, "timing: {rounds: 4}", {"small": 4, "big": 2}),  # the case's beats the capture's
        (None, "timing: {}", {"small": 5, "big": 2}),
        (None, "timing: {rounds: 1}", {"small": 1, "big": 2}),  # also where it is more
        (3, "timing: {rounds: 4}", {"small": 3, "big": 3}),
        (1, "timing: {rounds: 4}", {"small": 1, "big": 1}),
    ],
)
def test_what_is_asked_beats_the_case_and_that_the_capture(
    tmp_path: Path, asked: int | None, of_capture: str, counts: dict[str, int]
) -> None:
    text = GOOD.replace("timing: {}", f"{of_capture}\n  torch: {{rounds: 3}}")
    text = text.replace("{label: Small}", "{label: Small}\n  big: {label: Big, rounds: 2}")
    cells = plan(load(written(tmp_path, text)), Selected(("fast",), rounds=asked), "cuda")
    timing = Counter(cell.case for cell in cells if cell.capture == "timing")
    assert timing == counts
    for case, count in counts.items():
        rounds = [cell.round for cell in cells if (cell.case, cell.capture) == (case, "timing")]
        assert rounds == list(range(count))
    # What is profiled is recorded once, whatever is asked.
    profiled = [(cell.case, cell.round) for cell in cells if cell.capture == "torch"]
    assert profiled == [("small", 0), ("big", 0)]


def test_a_cpu_plan_has_no_gpu_captures_and_small_shapes(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cpu")
    assert {cell.capture for cell in cells} == {"timing", "memory", "torch"}
    assert not any(cell.variant in ("f8dq-graphs", "int4wo-graphs") for cell in cells)
    assert {cell.params.get("width", 0) for cell in cells} <= {0, 512}


def test_ids_are_unique_and_follow_their_inputs(problem: Problem) -> None:
    cpu, again, cuda = (
        [cell.id for cell in plan(problem, Selected(rounds=2), device)]
        for device in ("cpu", "cpu", "cuda")
    )
    assert cpu == again
    assert len(set(cpu)) == len(cpu)
    assert not set(cpu) & set(cuda)


def test_a_shared_workload_is_an_input_of_the_problems_that_use_it(tmp_path: Path) -> None:
    shared = tmp_path / "workloads" / "decoder.py"
    shared.parent.mkdir()
    ids = {}
    for content in ("a = 1", "a = 2"):
        shared.write_text(content)
        for head in ("", "workloads: [decoder.py]\n"):
            cells = plan(load(written(tmp_path, head + GOOD)), Selected(), "cpu")
            ids[content, bool(head)] = [cell.id for cell in cells]
    assert ids["a = 1", False] == ids["a = 2", False]
    assert not set(ids["a = 1", True]) & set(ids["a = 2", True])


def test_a_case_names_the_script_that_its_cells_run(tmp_path: Path) -> None:
    folder = written(tmp_path, GOOD)
    (before, *_) = plan(load(folder), Selected(), "cpu")
    shutil.copy(folder / "repro.py", folder / "other.py")
    (same, *_) = plan(load(folder), Selected(), "cpu")
    text = GOOD.replace("label: Small", "label: Small, script: other.py")
    (cell, *_) = plan(load(written(tmp_path, text)), Selected(), "cpu")
    assert (before.script, cell.script) == ("repro.py", "other.py")
    assert cell.id not in (before.id, same.id)
    command = inside.workload(cell, "python3")
    assert command == ["python3", "/work/problem/other.py"]


def test_cells_know_whose_compiled_code_they_find(tmp_path: Path) -> None:
    text = GOOD.replace(
        "{label: Fast, environment: plain}", "{label: F, environment: plain, caches_of: slow}"
    )
    cells = plan(load(written(tmp_path, text)), Selected(), "cpu")
    assert {cell.variant: cell.caches for cell in cells} == {"slow": "slow", "fast": "slow"}


def test_an_environment_variable_tells_the_cells_of_one_variant_apart(tmp_path: Path) -> None:
    ids: dict[str, list[str]] = {"slow": [], "fast": []}
    for value in ("", ", variables: {ABC: '1'}", ", variables: {ABC: '2'}"):
        text = GOOD.replace(
            "{label: Fast, environment: plain}", f"{{label: F, environment: plain{value}}}"
        )
        for cell in plan(load(written(tmp_path, text)), Selected(), "cpu"):
            ids[cell.variant].append(cell.id)
            assert (cell.variables.get("ABC", "none") in value) == bool(cell.variables)
    assert len(set(ids["slow"])) * 3 == len(ids["slow"])  # nothing changed for it
    assert len(set(ids["fast"])) == len(ids["fast"])


@pytest.mark.parametrize(("caches", "alone"), [(True, 1), (False, 3)])
def test_of_what_tunes_only_the_first_cell_to_fill_the_caches_is_alone(
    tmp_path: Path, caches: bool, alone: int
) -> None:
    text = GOOD.replace("timing: {}", "timing: {rounds: 2}\n  torch: {}")
    text = text.replace(
        "{label: Fast, environment: plain}", "{label: F, environment: plain, tunes: true}"
    )
    cells = plan(load(written(tmp_path, text)), Selected(), "cpu", caches=caches)
    found = [(cell.variant, cell.capture, cell.round) for cell in cells if cell.alone]
    every = [("fast", "timing", 0), ("fast", "timing", 1), ("fast", "torch", 0)]
    assert found == every[:alone]


@pytest.mark.parametrize(
    ("selected", "told"),
    [
        (Selected(variants=("fast",)), "no variant 'fast'.*there are: bf16-eager"),
        (Selected(cases=("huge",)), "no case 'huge'"),
        (Selected(captures=("vtune",)), "no capture 'vtune'"),
        (Selected(captures=("ncu",)), "nothing to run on cpu"),
        (Selected(rounds=0), "at least 1"),
    ],
)
def test_what_cannot_be_planned(problem: Problem, selected: Selected, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        plan(problem, selected, "cpu")


def test_cells_of_more_gpus_than_there_are_are_left_out(problem: Problem) -> None:
    name = next(iter(problem.cases))
    two = problem.cases[name].model_copy(update={"gpus": 2})
    problem = problem.model_copy(update={"cases": problem.cases | {name: two}})
    every, fewer = (plan(problem, Selected(), "cuda", here=Able(gpus)) for gpus in (2, 1))
    assert {cell.gpus for cell in every} == {1, 2}
    assert fewer == [cell for cell in every if cell.case != name]
    with pytest.raises(UsageError, match="every cell chosen uses 2 GPUs"):
        plan(problem, Selected(cases=(name,)), "cuda", here=Able(1))


@pytest.mark.parametrize(
    ("wanted", "has", "runs"),
    [
        ("9.0", "9.0", True),
        ("9.0", "10.0", False),
        ("9.0", "8.9", False),
        ("8.9+", "8.6", False),
        ("8.9+", "8.9", True),
        ("8.9+", "10.0", True),
    ],
)
def test_cells_of_another_compute_capability_are_left_out(
    tmp_path: Path, wanted: str, has: str, runs: bool
) -> None:
    text = GOOD.replace("label: Fast,", f'label: Fast, capability: "{wanted}",')
    problem = load(written(tmp_path, text))
    every = plan(problem, Selected(), "cuda")
    made = plan(problem, Selected(), "cuda", here=Able(capability=has))
    assert made == (every if runs else [cell for cell in every if cell.variant != "fast"])
    if not runs:
        told = f"compute capability {has}, and every cell chosen needs {re.escape(wanted)}"
        with pytest.raises(UsageError, match=told):
            plan(problem, Selected(("fast",)), "cuda", here=Able(capability=has))


def test_named_cells_run_as_they_were_planned(tmp_path: Path) -> None:
    text = GOOD.replace("label: Fast,", 'label: Fast, capability: "9.0",')
    problem = load(written(tmp_path, text))
    planned = plan(problem, Selected(), "cuda")  # by a cluster's front end, which has no GPU
    names = frozenset(cell.name for cell in planned)
    assert plan(problem, Selected(names=names), "cuda", here=Able(capability="8.6")) == planned


def test_a_capability_is_a_number_of_two_parts(tmp_path: Path) -> None:
    text = GOOD.replace("label: Fast,", "label: Fast, capability: sm_90,")
    with pytest.raises(ManifestError, match=r"line 8: variants\.fast\.capability"):
        load(written(tmp_path, text))
