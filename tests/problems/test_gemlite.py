"""Problem 2's arithmetic. GemLite needs a GPU to be imported: nothing here imports it or torch."""

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.paths import ROOT

PROBLEMS = ROOT / "problems"
MODULES = ("selection", "ranking", "tuning")


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


@pytest.fixture(scope="module")
def swept(problem: Problem) -> list[int]:
    ms: list[int] = problem.cases["sweep-4096"].params["ms"]
    return ms


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


def test_the_sweep_crosses_every_edge(swept: list[int]) -> None:
    assert [row[0] for row in SOURCE] == swept


def test_a_gemv_is_tuned_for_each_m_a_gemm_once_a_bucket(
    selection: ModuleType, swept: list[int]
) -> None:
    assert [m for m in swept if m not in selection.tuned(swept, 4)] == [8]
    assert [m for m in swept if m not in selection.tuned(swept, 8)] == [4, 8]


def test_the_file_keeps_the_last_gemv_and_the_first_gemm_of_a_bucket(
    selection: ModuleType, swept: list[int]
) -> None:
    def others(bits: int) -> dict[int, int]:
        found = {m: selection.source(m, swept, bits) for m in swept}
        return {m: source for m, source in found.items() if source != m}

    assert others(4) == {3: 4, 8: 5}
    assert others(8) == {4: 3, 8: 5}


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


@given(st.integers(0, 40), st.integers(0, 20), st.integers(1, 16))
def test_every_candidate_is_compiled_by_one_worker(count: int, index: int, workers: int) -> None:
    share = importlib.import_module("selection").share
    parts = [range(count)[share(index, worker, workers)] for worker in range(workers)]
    assert sorted(one for part in parts for one in part) == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


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


def test_what_the_tuner_passed_over() -> None:
    ranking = importlib.import_module("ranking")
    times = [(40.0, 10.0, 12.0), (41.0, 8.0, 9.0), (42.0, 14.0, 15.0)]
    candidates = [ranking.Candidate({}, *three, warm=1.0) for three in times]
    found = {name: value for name, (value, _) in ranking.compared(candidates, CHOICES).items()}
    assert (found["tuner_rank"], found["best_tuner_rank"], found["uncopied_rank"]) == (2, 2, 1)
    assert (found["chosen_cold"], found["best_cold"]) == (12, 9)
    assert found["passed_over"] == pytest.approx(12 / 9)
    assert found["uncopied_passed_over"] == 1
    assert found["spearman_tuner"] == pytest.approx(0.5)
    assert found["spearman_uncopied"] == pytest.approx(1)
    assert (found["tunings"], found["different_choices"]) == (3, 2)
    assert found["worst_choice"] == pytest.approx(15 / 9)
    assert found["different_uncopied_choices"] == 2
    assert found["worst_uncopied_choice"] == pytest.approx(12 / 9)
    assert found["copies"] == 30  # the median of 30, 33 and 28
    assert found["tuner_range"] == pytest.approx(42 / 40)


DEEP = {"bits": 4, "mode": "fast", "n": 4096, "k": 4096, "m": 16}


@pytest.mark.parametrize(
    ("other", "ahead"),
    [({}, False), ({"mode": "max"}, True), ({"mode": "clean"}, True), ({"ms": [1, 2]}, True)],
)
def test_only_where_its_seconds_do_not_count_is_compiled_ahead(
    tuning: ModuleType, other: dict[str, Any], ahead: bool
) -> None:
    wanted = tuning.request(DEEP | other)
    assert wanted["ms"] == other.get("ms", [16])
    assert (wanted["workers"] > 0) is ahead
    assert wanted["workers"] <= 16


def test_a_record_is_kept_beside_the_caches_and_only_for_what_it_was_made(
    tuning: ModuleType, tmp_path: Path
) -> None:
    path = tuning.record_path("m16")
    assert path == tmp_path / "variant" / "m16.json"
    wanted = tuning.request(DEEP)
    assert tuning.read(path, wanted) is None
    kept = {"request": wanted, "configs": {"GEMM": {"(64, 1)": {"EVEN_K": True}}}}
    tuning.write(path, kept)
    assert tuning.read(path, wanted) == kept
    assert tuning.read(path, tuning.request(DEEP | {"n": 512})) is None
    assert list(path.parent.iterdir()) == [path]


def test_a_tuning_is_made_once_without_a_profiler_and_its_cache_is_empty(
    tuning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(
        "import json, os, pathlib, sys\n"
        "here = {name: os.environ.get(name) for name in ('LD_PRELOAD', 'TRITON_CACHE_DIR')}\n"
        "found = {'request': json.loads(sys.argv[1]), 'here': here}\n"
        "pathlib.Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)\n"
        "pathlib.Path(sys.argv[2]).write_text(json.dumps(found))\n"
    )
    monkeypatch.setattr(tuning, "script", lambda *given: [sys.executable, str(child), *given])
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "a profiler's")
    shared = str(tmp_path / "variant" / "triton")
    found = tuning.record(tuning.request(DEEP), tuning.record_path("m16"))
    assert found["here"]["LD_PRELOAD"] is None
    assert found["here"]["TRITON_CACHE_DIR"] != shared
    child.unlink()  # a second one is not started
    assert tuning.record(tuning.request(DEEP), tuning.record_path("m16")) == found


def test_the_plan_on_both_devices(problem: Problem) -> None:
    gpu = plan(problem, Selected(), "cuda")
    assert Counter(cell.capture for cell in gpu) == {
        "timing": 5 * (8 + 6) + 3 * (2 * 6) + 2 * (2 * 5),
        "nsys": 20,
        "ncu": 20,
    }
    cpu = plan(problem, Selected(), "cpu")
    assert {cell.variant for cell in cpu} == {"bf16"}
    assert Counter(cell.capture for cell in cpu) == {"timing": 5 * 2 + 3 * 2 + 2 * 2}


def test_the_searches_are_made_at_three_batches_and_alone(problem: Problem) -> None:
    cells = plan(problem, Selected(variants=("w4-max",)), "cuda")
    assert {cell.case for cell in cells} == {"m1", "m64", "m1024"}
    assert {cell.case for cell in cells if cell.alone} == {"m1", "m64", "m1024"}
    assert sum(cell.alone for cell in cells) == 3


def test_every_claim_is_made_before_it_is_judged(problem: Problem) -> None:
    assert len(problem.claims) >= 14
    assert {claim.needs for claim in problem.claims} == {"cuda"}
