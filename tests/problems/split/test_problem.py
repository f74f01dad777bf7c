"""The manifest: every way has its cell, CPU cases have two and four ranks, sizes fit."""

from pathlib import Path

from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.split_study import FOLDER

ON_GPUS_ALONE = {"tensor-symmetric", "ring-torch"}
WIDTHS = {"llama-3-70b": 8192, "mixtral-8x7b": 4096}


def test_a_cpu_runs_two_and_four_ranks(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cpu")
    assert [cell.params["ranks"] for cell in cells] == [2, 4]
    assert {cell.params["layers"] % (2 * cell.params["ranks"]) for cell in cells} == {0}


def test_every_gpu_cell_has_one_for_each_rank(problem: Problem) -> None:
    for cell in plan(problem, Selected(), "cuda"):
        assert cell.gpus == cell.params["ranks"]


def test_every_way_is_measured_on_gpus_and_checked_on_a_cpu(problem: Problem) -> None:
    named = ways(problem, "llama", "train", "mixtral", "mixtral-skew", "mixtral-train")
    assert ways(problem, "small-2") == named - ON_GPUS_ALONE
    text = (FOLDER / "ways.py").read_text(encoding="utf-8")
    assert all(f'"{way}": ' in text for way in named)


def ways(problem: Problem, *cases: str) -> set[str]:
    works = [work for case in cases for work in problem.cases[case].params["works"].values()]
    return {way for work in works for way in work["ways"]}


def test_works_divide_as_their_ways_ask(problem: Problem) -> None:
    for case in problem.cases.values():
        ranks = case.params["ranks"]
        for work in case.params["works"].values():
            if "experts" in work["ways"]:
                assert work["batch"] % ranks == 0
            if "ring" in work["ways"]:
                assert work["tokens"] % (2 * ranks) == 0
            if work["work"] == "train":
                assert work["batch"] % work.get("microbatches", 1) == 0 == work["batch"] % ranks
        for length in case.params.get("sweep", {}).get("lengths", []):
            assert length % (2 * ranks) == 0


def test_what_a_decode_sums_lies_between_sizes_measured_in_a_graph(problem: Problem) -> None:
    for planned in plan(problem, Selected(), "cuda"):
        sizes = planned.params["graph_sizes"]
        assert sizes == sorted(set(sizes))
        assert len(sizes) >= 2
        for work in planned.params["works"].values():
            if work["work"] == "decode":
                assert sizes[0] <= 2 * work["batch"] * WIDTHS[work["model"]] <= sizes[-1]


def test_every_bound_of_the_goal_is_claimed(problem: Problem) -> None:
    bounds = {claim.id: claim.bound for claim in problem.claims}
    predicted = [name for name in bounds if name.startswith("predicted-")]
    of_two = {name for name in predicted if not name.endswith("-4")}
    works = {
        name
        for case in ("llama", "train", "mixtral", "mixtral-train")
        for name in problem.cases[case].params["works"]
    }
    assert {name.removeprefix("predicted-") for name in of_two} == works
    assert {bounds[name].below for name in predicted} == {10}
    assert bounds["crossover-foreseen"].below == 15
    assert bounds["async-hides"].below == 5


def test_multicast_is_off_before_nccl_is_loaded() -> None:
    text = Path(FOLDER / "world.py").read_text(encoding="utf-8")
    assert 'os.environ.setdefault("NCCL_NVLS_ENABLE", "0")' in text
    assert 'os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")' in text
