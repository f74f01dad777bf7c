"""Problem 2's arithmetic. GemLite needs a GPU to be imported: nothing here imports it or torch."""

import functools
import importlib
import json
import math
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.problem.manifest import find
from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan
from tests.support.paths import ROOT

PROBLEMS = ROOT / "problems"
MODULES = ("selection", "ranking", "tuning", "autotuners")


@pytest.fixture(scope="module", autouse=True)
def _scripts() -> Iterator[None]:
    """The problem's scripts are found as they find each other: in their own folder."""
    folder = str(PROBLEMS / "2-gemlite-autotune")
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def selection() -> ModuleType:
    return importlib.import_module("selection")


@pytest.fixture
def tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "variant" / "triton"))
    return importlib.import_module("tuning")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(PROBLEMS, "2")


# (M, kernel for 4 bits, kernel for 8 bits, bucket), read off GemLite 0.6.0's source.
SOURCE = [
    (1, "GEMV_REVSPLITK", "GEMV_SPLITK", 1),
    (2, "GEMV_REVSPLITK", "GEMV_SPLITK", 2),
    (3, "GEMV_REVSPLITK", "GEMM_SPLITK", 4),
    (4, "GEMV_REVSPLITK", "GEMM_SPLITK", 4),
    (5, "GEMM_SPLITK", "GEMM_SPLITK", 8),
    (8, "GEMM_SPLITK", "GEMM_SPLITK", 8),
    (16, "GEMM_SPLITK", "GEMM_SPLITK", 16),
    (32, "GEMM_SPLITK", "GEMM_SPLITK", 32),
    (48, "GEMM_SPLITK", "GEMM_SPLITK", 48),
    (63, "GEMM_SPLITK", "GEMM_SPLITK", 64),
    (64, "GEMM", "GEMM", 64),
    (65, "GEMM", "GEMM", 96),
    (128, "GEMM", "GEMM", 128),
    (256, "GEMM", "GEMM", 256),
    (512, "GEMM", "GEMM", 512),
    (1024, "GEMM", "GEMM", 1024),
    (2048, "GEMM", "GEMM", 2048),
    (4096, "GEMM", "GEMM", 4096),
]


@pytest.mark.parametrize(("m", "four", "eight", "bucket"), SOURCE)
def test_each_batch_gets_the_kernel_and_bucket_of_the_source(
    selection: ModuleType, m: int, four: str, eight: str, bucket: int
) -> None:
    assert (selection.kernel_for(m, 4), selection.kernel_for(m, 8)) == (four, eight)
    assert selection.bucket(m) == bucket


def test_buckets_are_those_that_the_source_generates(selection: ModuleType) -> None:
    # Its rule: powers of two, and from 32 on what lies at a half and a quarter of two neighbours.
    powers = [2**i for i in range(13)]
    between = {(low + 2 * low) // part for low in powers if 32 <= low < 4096 for part in (2, 4)}
    assert sorted({*powers, *between}) == list(selection.BUCKETS)
    assert selection.bucket(9000) == 4096


def test_grids(selection: ModuleType) -> None:
    block = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 128}
    assert selection.grid("GEMM", block, 65, 4096, 4096) == (2 * 32, 1)
    split = block | {"BLOCK_SIZE_M": 16, "SPLIT_K": 4}
    assert selection.grid("GEMM_SPLITK", split, 16, 4096, 4096) == (32, 4)
    gemv = {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16}
    assert selection.grid("GEMV_REVSPLITK", gemv, 1, 4096, 4096) == (128, 128)


def test_a_configuration_in_one_line(selection: ModuleType) -> None:
    launch = {"num_warps": 1, "num_stages": 2, "A_load_order": 0}
    gemv = {"BLOCK_SIZE_M": 1, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, **launch}
    untuned = "1×32×16, 1 warps, 2 stages, A loaded 0, bounds checked"
    assert selection.described(gemv) == untuned
    assert selection.described({**gemv, "EVEN_K": True}) == untuned.removesuffix(", bounds checked")
    gemm = {**gemv, "BLOCK_SIZE_M": 16, "SPLIT_K": 4}
    assert selection.described(gemm) == "16×32×16, split 4, 1 warps, 2 stages, A loaded 0"


def test_ranks_and_their_correlation() -> None:
    ranking = importlib.import_module("ranking")
    assert ranking.ranks([3, 1, 2]) == [3, 1, 2]
    assert ranking.ranks([5, 1, 5, 9]) == [2.5, 1, 2.5, 4]
    assert ranking.spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert ranking.spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Without ties it is 1 - 6 Σd² / (n³ - n).
    assert ranking.spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(1 - 6 * 4 / 120)
    assert ranking.spearman([1, 1, 1], [1, 2, 3]) == 0


CHOICES = {"tuner": [0, 2, 0], "uncopied": [0, 1]}


def test_the_tuners_ranking_is_held_against_the_stacks() -> None:
    ranking = importlib.import_module("ranking")
    times = [(40.0, 35.0, 10.0, 12.0), (41.0, 38.0, 8.0, 9.0), (42.0, 30.0, 14.0, 15.0)]
    candidates = [ranking.Candidate({}, *four) for four in times]
    found = {name: value for name, (value, _) in ranking.compared(candidates, CHOICES).items()}
    assert found["spearman_tuner"] == pytest.approx(0.5)
    assert found["spearman_uncopied"] == pytest.approx(1)
    assert (found["tunings"], found["different_choices"]) == (3, 2)
    assert found["worst_choice"] == pytest.approx(15 / 9)
    assert found["different_uncopied_choices"] == 2
    assert found["worst_uncopied_choice"] == pytest.approx(12 / 9)
    assert found["spearman_repeated"] == pytest.approx(-1)
    assert found["copies"] == 25  # the median of 25, 30 and 16
    assert found["first_tuning"] == 5  # the median of 5, 3 and 12
    assert found["tuner_range"] == pytest.approx(42 / 40)
    assert found["alone_range"] == pytest.approx(15 / 9)


class Gemlite:
    """What GemLite does with its files: writes its choice, and takes a file whole."""

    def __init__(self, choice: dict[str, Any]) -> None:
        self.choice = choice

    def cache_config(self, file: str) -> None:
        Path(file).write_text(json.dumps(self.choice), encoding="utf-8")

    def load_config(self, file: str, *, overwrite: bool) -> bool:
        assert overwrite
        self.choice = json.loads(Path(file).read_text(encoding="utf-8"))
        return True


FIRST = {"GEMM": {"(64, 4096)": {"BLOCK_SIZE_M": 64}}}
SECOND = {"GEMM": {"(64, 4096)": {"BLOCK_SIZE_M": 128}}}


def test_a_profiled_cell_loads_what_the_first_process_chose(
    tuning: ModuleType, tmp_path: Path
) -> None:
    params = {"n": 4096, "k": 4096, "m": 64, "layers": 32}
    file = tuning.path(params)
    assert file.parent == tmp_path / "variant"
    profiled = Gemlite({})
    assert not tuning.load(profiled, file)
    file.parent.mkdir()
    tuning.store(Gemlite(FIRST), file)
    tuning.store(Gemlite(SECOND), file)  # a later round tunes anew and leaves the first's choice
    assert list(file.parent.iterdir()) == [file]
    # One layer has the same kernel as a stack of them.
    assert tuning.load(profiled, tuning.path(params | {"layers": 1}))
    assert profiled.choice == FIRST


def test_every_layer_and_batch_has_a_choice_of_its_own(tuning: ModuleType) -> None:
    shape = {"n": 4096, "k": 4096, "m": 1}
    others = [shape | {"m": 16}, shape | {"n": 14336}, shape | {"k": 14336}]
    assert len({tuning.path(params) for params in [shape, *others]}) == 4


class Tuner:
    """Triton's autotuner: times its candidates once a key, by ``do_bench``."""

    def __init__(self, times: dict[str, float]) -> None:
        self.times, self.cache, self.calls = times, dict[str, str](), list[str]()
        self.configs_timings = dict[str, list[float]]()

    @functools.cached_property
    def do_bench(self) -> Any:
        return lambda call, quantiles: [call()] * len(quantiles)

    def launch(self) -> None:
        if "key" in self.cache:
            return
        self.configs_timings = {name: self._bench(name) for name in self.times}
        self.cache["key"] = min(self.times, key=lambda name: self.configs_timings[name])

    def _bench(self, name: str) -> list[float]:
        if math.isinf(self.times[name]):  # needs more shared memory than there is
            return [math.inf] * 3
        times: list[float] = self.do_bench(functools.partial(self._run, name), (0.5, 0.2, 0.8))
        return times

    def _run(self, name: str) -> float:
        self.calls.append(name)
        return self.times[name]


def test_compiling_ahead_calls_every_candidate_once_and_the_tuner_chooses_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    synchronised: list[str] = []
    torch = types.ModuleType("torch")
    vars(torch)["cuda"] = types.SimpleNamespace(synchronize=lambda: synchronised.append("done"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    autotuners = importlib.import_module("autotuners")
    tuner = Tuner({"slow": 3.0, "fast": 1.0, "too large": math.inf})
    assert autotuners.candidates(tuner) == []
    assert autotuners.compiled(tuner.launch, tuner) >= 0
    assert tuner.calls == ["slow", "fast"]
    assert autotuners.candidates(tuner) == ["slow", "fast"]
    autotuners.tuned(tuner.launch, tuner)
    assert tuner.cache["key"] == "fast"
    assert tuner.configs_timings["slow"] == [3.0, 3.0, 3.0]
    assert autotuners.candidates(tuner) == ["slow", "fast"]
    assert synchronised == ["done", "done"]


def test_the_plan_on_both_devices(problem: Problem) -> None:
    gpu = plan(problem, Selected(), "cuda")
    assert Counter(cell.capture for cell in gpu) == {
        "timing": 5 * (10 + 5 + 6 + 5 + 2 * 3 + 2) + 3 * 2 * 3,
        "nsys": 8,
        "ncu": 7,
    }
    cpu = plan(problem, Selected(), "cpu")
    assert {cell.variant for cell in cpu} == {"bf16"}


def test_the_short_path_decides_the_advice_at_one_row(problem: Problem) -> None:
    short = plan(problem, Selected(short=True), "cuda")
    assert {cell.case for cell in short} == {"m1", "ranking-m1"}
    assert len(short) <= 33
    advice = [claim for claim in problem.claims if isinstance(claim, Advice) and claim.headline]
    assert {claim.metric for claim in advice} == {"wall_time"}


def test_each_stack_exceeds_the_l2_cache_three_times(problem: Problem) -> None:
    # An H200 has 60 MB of L2; 4-bit weights are half a byte each.
    stacks = [case.params for case in problem.cases.values() if case.params["layers"] > 1]
    assert len(stacks) == 9
    assert all(case["layers"] * case["n"] * case["k"] / 2 > 3 * 60e6 for case in stacks)


def test_every_claim_is_made_before_it_is_judged(problem: Problem) -> None:
    assert len(problem.claims) >= 14
    assert {claim.needs for claim in problem.claims} == {"cuda"}
