"""Batches run in turn: each contender once a turn, watched while it runs."""

import math
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.probe import paired

PAIRED_BATCH = paired.LaunchBatch


class Batch:
    """A batch that takes as many µs a launch as the contender says, once it has been asked."""

    ran: list[str]

    def __init__(self, run: Any, _sets: Any, launches: int) -> None:
        name, us = run
        self.name, self.us_each, self.launches = str(name), float(us), launches
        self._asked = 0

    def start(self) -> None:
        Batch.ran.append(self.name)
        self._asked = 0

    def done(self) -> bool:
        self._asked += 1
        return self._asked > 3

    def us(self) -> float:
        return self.us_each


class Clock:
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


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    Batch.ran = []
    monkeypatch.setattr(paired, "LaunchBatch", Batch)
    monkeypatch.setattr(paired, "WARM_S", 0.0)
    monkeypatch.setattr(paired, "launches", lambda *_: 10)


RUNS: Any = {name: (name, us) for name, us in (("torch", 180.0), ("p0", 1900.0), ("best", 170.0))}


def contest(turns: int, clock: Any = None, batch_ms: float = 12.0) -> dict[str, paired.Turns]:
    monitor: Any = Monitor()
    return paired.interleaved(RUNS, [], turns, monitor, clock, batch_ms)


def test_every_contender_runs_once_a_turn_in_an_order_of_its_own() -> None:
    measured = contest(40)
    turns = [tuple(Batch.ran[at : at + 3]) for at in range(0, len(Batch.ran), 3)]
    assert len(turns) == 40
    assert all(set(turn) == set(RUNS) for turn in turns)
    assert len(set(turns)) > 1
    assert measured["p0"].us == [1900.0] * 40
    assert measured["best"].speed_over(measured["torch"]) == pytest.approx(180 / 170)
    assert all(map(math.isnan, measured["best"].mhz))  # nobody counted


def test_the_clock_of_a_batch_is_counted_over_it_alone() -> None:
    measured = contest(20, Clock())
    assert {name: set(turns.mhz) for name, turns in measured.items()} == {
        name: {10.0 * len(name)} for name in RUNS
    }
    for turns in measured.values():
        assert turns.nvml_mhz == [1980.0] * 20
        assert len(turns.mhz) == len(turns.us) == len(turns.watt) == 20


def test_what_runs_before_the_turns_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "WARM_S", 1e-3)
    measured = contest(2, Clock())
    assert len(Batch.ran) > 2 * len(RUNS)
    assert measured["p0"].mhz == [20.0] * 2


def test_long_batches_replay_a_graph_as_often_as_lasts_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    class Lengthened(Batch):
        def lengthen(self, ms: float) -> None:
            asked.append((self.name, ms))

    monkeypatch.setattr(paired, "LaunchBatch", Lengthened)
    contest(1, batch_ms=500.0)
    assert asked == [(name, 500.0) for name in RUNS]
    asked.clear()
    contest(1, batch_ms=paired.BATCH_MS)
    assert asked == []


@pytest.mark.parametrize(("us", "replays"), [(180.0, 278), (1900.0, 26), (80_000.0, 1)])
def test_a_batch_lasts_as_long_as_asked_whatever_its_launches_take(us: float, replays: int) -> None:
    batch = object.__new__(PAIRED_BATCH)
    batch.launches, batch._replays = 10, 1
    replayed: list[int] = []
    event: Any = SimpleNamespace(record=lambda: None, synchronize=lambda: None)
    event.elapsed_time = lambda _: us * 10 * len(replayed) / 1000
    batch._begin = batch._end = event
    batch._graph = SimpleNamespace(replay=lambda: replayed.append(1))
    batch.lengthen(500.0)
    assert batch.launches == 10 * replays
    replayed.clear()
    batch.start()
    assert len(replayed) == replays
    assert batch.us() == pytest.approx(us)


def test_the_fastest_candidate_is_known_by_its_index() -> None:
    candidates: Any = [("slow", 9.0), ("fast", 3.0), ("middle", 5.0)]
    assert paired.best_of(candidates, []) == (1, 3.0)
    assert sorted(Batch.ran) == sorted(["slow", "fast", "middle"] * 3)


@pytest.mark.parametrize(("bytes_each", "sets"), [(96 << 20, 2), (1 << 30, 1), (60 << 20, 3)])
def test_operands_are_rotated_until_three_caches_are_full(
    monkeypatch: pytest.MonkeyPatch, bytes_each: int, sets: int
) -> None:
    torch: Any = ModuleType("torch")
    properties = SimpleNamespace(L2_cache_size=60 << 20)
    torch.cuda = SimpleNamespace(
        current_device=lambda: 0, get_device_properties=lambda _: properties
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert paired.sets_beyond_cache(bytes_each) == sets
