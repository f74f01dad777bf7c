"""The dispatcher takes what was measured, else a guess that is at least able to do it."""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.hgemm import FOLDER

SHAPE = (1024, 1024, 1024)
SLOW, FAST = "t128x128_k2_s5", "t128x64_k2_s8"
"""Two candidates, neither of which the model would choose."""


@pytest.fixture
def dispatch(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The problem's module, with nothing measured."""
    loaded = module("dispatch")
    monkeypatch.setattr(loaded, "CHOICES", tmp_path / "choices.json")
    loaded.choices.cache_clear()
    yield loaded
    loaded.choices.cache_clear()


def sweep(us: dict[str, list[float]], shape: tuple[int, int, int] = SHAPE) -> list[dict[str, Any]]:
    """Return the rows of one run: for each contender, µs in each round."""
    about = {"kind": "time", "shape": list(shape)}
    return [
        about | {"step": name, "us": each, "tflops": rate(each, shape)} for name, each in us.items()
    ]


def rate(us: list[float], shape: tuple[int, int, int]) -> float:
    m, n, k = shape
    return 2e-6 * m * n * k / sorted(us)[len(us) // 2]


def test_small_shapes_get_more_blocks_than_they_have_large_tiles(dispatch: ModuleType) -> None:
    large = math.prod(dispatch.choose(8192, 8192, 8192).tile[:2])
    assert large == 128 * 192
    step = dispatch.choose(1024, 1024, 1024)
    assert step.grid(1024, 1024)[0] > 100 > 1024 * 1024 / large
    # Where K is long, adding up its parts costs less than multiprocessors without a tile.
    step = dispatch.choose(1024, 1024, 4096)
    assert step.split_k > 1 and step.grid(1024, 1024)[0] > 1024 * 1024 / math.prod(step.tile[:2])


def test_shapes_that_tma_cannot_read_go_to_the_fallback(dispatch: ModuleType) -> None:
    assert dispatch.choose(4097, 4104, 4099).name == "fallback"
    assert dispatch.choose(8, 9, 8).name == "fallback"


def test_what_was_measured_is_preferred(dispatch: ModuleType) -> None:
    rows = sweep({"torch": [4.5] * 3, "cublaslt": [4.05] * 3, SLOW: [5.625] * 3, FAST: [5.0] * 3})
    found = dispatch.fastest(rows)
    assert found == [{"shape": list(SHAPE), "step": FAST, "of_better": pytest.approx(0.81)}]
    assert dispatch.choose(*SHAPE).name != FAST
    dispatch.CHOICES.write_text(json.dumps([{"shape": list(SHAPE), "step": FAST}]))
    dispatch.choices.cache_clear()
    assert dispatch.choose(*SHAPE).name == FAST


def check(dispatch: ModuleType, *runs: list[dict[str, Any]], chosen: str, of_better: float) -> None:
    """Check what is chosen for the only shape with candidates."""
    (found,) = dispatch.fastest(*runs)
    assert (tuple(found["shape"]), found["step"]) == (SHAPE, chosen)
    assert found["of_better"] == pytest.approx(of_better)


def test_each_round_is_held_against_its_own_baseline(dispatch: ModuleType) -> None:
    """The clock falls by two thirds within a run, and not at the same time for all."""
    run = sweep(
        {
            "torch": [100.0, 200.0, 300.0],
            FAST: [90.0, 210.0, 280.0],
            SLOW: [96.0, 196.0, 294.0],
        }
    )
    rates = {row["step"]: row["tflops"] for row in run}
    assert rates[SLOW] > rates[FAST]  # by their medians it would be the other one
    check(dispatch, run, chosen=FAST, of_better=300 / 280)


def test_runs_at_different_clocks_are_pooled_by_ratios(dispatch: ModuleType) -> None:
    """Each candidate was timed in one run: the one of the slower clock is the better one."""
    high = sweep({"torch": [100.0] * 3, SLOW: [100.0] * 3})
    low = sweep({"torch": [120.0] * 3, FAST: [110.0] * 3})
    assert high[1]["tflops"] > low[1]["tflops"]
    check(dispatch, high, low, chosen=FAST, of_better=120 / 110)
    check(dispatch, low, high, chosen=FAST, of_better=120 / 110)


def test_the_rounds_of_all_runs_count_alike(dispatch: ModuleType) -> None:
    """One lucky round in a short run does not outweigh a long run's many."""
    short = sweep({"torch": [100.0], SLOW: [50.0], FAST: [95.0]})
    long = sweep({"torch": [100.0] * 5, SLOW: [100.0] * 5, FAST: [95.0] * 5})
    check(dispatch, short, chosen=SLOW, of_better=2)
    check(dispatch, short, long, chosen=FAST, of_better=100 / 95)


def test_the_baseline_is_the_better_one_of_each_run(dispatch: ModuleType) -> None:
    one = sweep({"torch": [100.0] * 3, "cublaslt": [80.0] * 3, FAST: [80.0] * 3})
    other = sweep({"torch": [90.0] * 3, "cublaslt": [120.0] * 3, FAST: [90.0] * 3})
    check(dispatch, one, other, chosen=FAST, of_better=1)


def test_only_candidates_are_chosen_and_shapes_without_any_left_out(dispatch: ModuleType) -> None:
    rows = sweep({"torch": [4.0], "h7_tile_order": [3.0], SLOW: [5.0]})
    rows += sweep({"torch": [200.0], "h7_tile_order": [190.0]}, (4096, 4096, 4096))
    check(dispatch, rows, chosen=SLOW, of_better=0.8)


def test_choices_are_written_from_the_files_of_several_sweeps(
    dispatch: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = (4096, 4096, 4096)
    runs = [
        sweep({"torch": [100.0], SLOW: [100.0]}) + sweep({"torch": [100.0], FAST: [50.0]}, other),
        sweep({"torch": [120.0], FAST: [100.0]}),
    ]
    paths = [tmp_path / f"{at}.jsonl" for at in range(len(runs))]
    for path, rows in zip(paths, runs, strict=True):
        before = {"kind": "check", "step": FAST, "good": True}
        path.write_text("".join(json.dumps(row) + "\n" for row in [before, *rows]))
    monkeypatch.setattr(sys, "argv", ["dispatch.py", *map(str, paths)])
    assert dispatch.main() == 0
    assert rows_of(dispatch.CHOICES) == [
        {"shape": list(SHAPE), "step": FAST, "of_better": 1.2},
        {"shape": list(other), "step": FAST, "of_better": 2.0},
    ]
    assert capsys.readouterr().out.splitlines()[-1] == "geometric mean 154.9 %"
    dispatch.choices.cache_clear()
    assert dispatch.choose(*other).name == FAST


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of choices, which has each on a line of its own."""
    first, *lines, last = path.read_text(encoding="utf-8").splitlines()
    assert (first, last) == ("[", "]")
    rows = [json.loads(line.removesuffix(",")) for line in lines]
    assert rows == json.loads(path.read_text(encoding="utf-8"))
    return rows


def test_the_committed_choices_are_of_the_suites_shapes(
    dispatch: ModuleType, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(FOLDER / "choices.json")
    assert Counter(tuple(row["shape"]) for row in rows) == Counter(module("steps").suite())
    monkeypatch.setattr(dispatch, "CHOICES", FOLDER / "choices.json")
    dispatch.choices.cache_clear()
    for row in rows:
        assert dispatch.CANDIDATES[row["step"]].takes(*row["shape"])
        assert dispatch.choose(*row["shape"]).name == row["step"]
        assert 0.5 < row["of_better"] < 1.5


def test_no_candidate_is_predicted_to_exceed_the_tensor_cores(dispatch: ModuleType) -> None:
    for shape in ((1024, 1024, 1024), (8192, 8192, 8192), (24576, 768, 768)):
        m, n, k = shape
        least = m * n * k / dispatch.FMA_PER_CYCLE / 132
        for step in dispatch.CANDIDATES.values():
            assert dispatch.cycles(step, *shape) > least


def test_consumers_that_take_turns_change_tiles_more_cheaply(
    dispatch: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    """For each tile that a block computes, and by nothing else."""
    assert 0 <= dispatch.TURN_CYCLES < dispatch.TILE_CYCLES
    ping_pong = [step for step in dispatch.CANDIDATES.values() if step.ping_pong]
    assert ping_pong
    for step in ping_pong:
        for m, n, k in module("steps").suite():
            blocks, _, _ = step.grid(m, n)
            down, across = step.cluster
            clusters = -(-m // (step.tile[0] * down)) * -(-n // (step.tile[1] * across))
            tiles = math.ceil(clusters * down * across / blocks)  # of the block that has most
            together = dispatch.cycles(replace(step, ping_pong=False), m, n, k)
            saved = tiles * (dispatch.TILE_CYCLES - dispatch.TURN_CYCLES)
            assert together - dispatch.cycles(step, m, n, k) == pytest.approx(saved)


def test_where_a_tile_has_few_steps_the_model_lets_consumers_take_turns(
    dispatch: ModuleType, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = [shape for shape in module("steps").suite() if shape[2] == 768]
    assert len(shapes) == 3
    assert all(dispatch.choose(*shape).ping_pong for shape in shapes)
    # If a change of tiles cost them as much as the others, it would be one of these.
    monkeypatch.setattr(dispatch, "TURN_CYCLES", dispatch.TILE_CYCLES)
    assert not any(dispatch.choose(*shape).ping_pong for shape in shapes)
