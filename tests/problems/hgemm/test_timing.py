"""Batches run in turn: each contender once a turn, watched while it runs."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


class Batch:
    """A batch that takes as many µs a launch as the contender says, once it has been asked."""

    ran: list[str]

    def __init__(self, run: Any, _sets: Any, launches: int, replays: int = 1) -> None:
        name, us = run
        self.name, self.us_each, self.size = str(name), float(us), launches * replays
        self._asked = 0

    def start(self) -> None:
        Batch.ran.append(self.name)
        self._asked = 0

    def done(self) -> bool:
        self._asked += 1
        return self._asked > 3

    def us(self) -> float:
        return self.us_each


class Clocks:
    """Counts 10 MHz a letter of the batch that ran between a begin and an end."""

    def __init__(self) -> None:
        self._marks: list[int] = []
        self._ends: list[bool] = []

    def mark(self, end: bool) -> None:
        self._marks.append(len(Batch.ran))
        self._ends.append(end)

    def mhz(self) -> float:
        assert self._ends == [False, True]
        (ran,) = Batch.ran[slice(*self._marks)]
        self._marks, self._ends = [], []
        return 10.0 * len(ran)


class Monitor:
    def watch(self, done: Callable[[], bool]) -> tuple[float, float]:
        while not done():
            pass
        return 1980.0, math.nan


@pytest.fixture
def timing(module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    loaded = module("timing")
    Batch.ran = []
    monkeypatch.setattr(loaded, "Batch", Batch)
    monkeypatch.setattr(loaded, "Clocks", Clocks)
    monkeypatch.setattr(loaded, "WARM_S", 0.0)
    monkeypatch.setattr(loaded, "launches", lambda *_: 10)
    return loaded


RUNS = {name: (name, us) for name, us in (("torch", 180.0), ("p0", 1900.0), ("best", 170.0))}


def test_every_contender_runs_once_a_turn_in_an_order_of_its_own(timing: ModuleType) -> None:
    found = timing.interleaved(RUNS, [], 40, Monitor())
    turns = [tuple(Batch.ran[at : at + 3]) for at in range(0, len(Batch.ran), 3)]
    assert len(turns) == 40
    assert all(set(turn) == set(RUNS) for turn in turns)
    assert len(set(turns)) > 1
    assert found["p0"].us == [1900.0] * 40
    assert found["best"].ratio(found["torch"]) == pytest.approx(180 / 170)
    assert found["torch"].tflops((4096, 4096, 4096)) == pytest.approx(763.5, abs=0.1)


def test_the_clock_of_a_batch_is_counted_over_it_alone(timing: ModuleType) -> None:
    found = timing.interleaved(RUNS, [], 20, Monitor())
    assert {name: set(one.mhz) for name, one in found.items()} == {
        name: {10.0 * len(name)} for name in RUNS
    }
    assert all(one.nvml_mhz == [1980.0] * 20 for one in found.values())
    assert all(len(one.mhz) == len(one.us) == len(one.watt) == 20 for one in found.values())


def test_what_runs_before_the_turns_is_not_counted(
    timing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "WARM_S", 1e-3)
    found = timing.interleaved(RUNS, [], 2, Monitor())
    assert len(Batch.ran) > 2 * len(RUNS)
    assert found["p0"].mhz == [20.0] * 2


def test_a_long_batch_is_a_short_one_many_times(
    timing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    class Sized(Batch):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            sizes.append(self.size)

    monkeypatch.setattr(timing, "Batch", Sized)
    timing.interleaved(RUNS, [], 1, Monitor(), 500.0)
    assert sizes == [10 * round(500 / timing.BATCH_MS)] * 3
