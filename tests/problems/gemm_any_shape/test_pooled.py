"""The contest gives both sides the same rounds, and the finals the batches that were asked for."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

US = {"torch": 12.0, "lt0": 10.0, "lt1": 11.0, "lt2": 13.0, "lt3": 20.0}
US |= {"choice": 9.0, "a": 8.0, "b": 15.0, "c": 16.0, "d": 17.0}


class Batch:
    """A contender that always takes the same time; notes how long its batches were."""

    starts: ClassVar[dict[str, list[float]]] = {}
    long: ClassVar[set[str]] = set()

    def __init__(self, run: str, sets: Any, stream: Any) -> None:
        self._name, self._ms = run, 0.0
        self.starts[run] = []

    def lengthen(self, ms: float) -> float | None:
        self._ms = ms
        return US[self._name] if self._name in self.long else None

    def start(self) -> None:
        self.starts[self._name].append(self._ms)

    def us(self) -> float:
        return US[self._name]


@pytest.fixture
def pooled(module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    loaded = module("pooled")
    cuda = SimpleNamespace(Stream=lambda: None, synchronize=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(loaded, "Batch", Batch)
    monkeypatch.setattr(Batch, "starts", {})
    return loaded


class Gpu:
    """A GPU and its host on one clock, in µs: flushes take 70, launches 5, what a host does 10."""

    def __init__(self, late: list[float]) -> None:
        self.host, self.done, self.late = 0.0, 0.0, list(late)
        self.cuda = SimpleNamespace(Event=lambda **_: Event(self), synchronize=lambda: None)
        self.uint8 = None

    def empty(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(fill_=lambda _: self.enqueue(70.0))

    def enqueue(self, us: float, late: float = 0.0) -> None:
        self.host += 10.0 + late
        self.done = max(self.done, self.host) + us

    def run(self, _: Any) -> None:
        self.enqueue(5.0, self.late.pop(0) if self.late else 0.0)


class Event:
    """An event that completes with what was enqueued before it."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu, self.us = gpu, 0.0

    def record(self) -> None:
        self._gpu.enqueue(0.0)
        self.us = self._gpu.done

    def query(self) -> bool:
        return self.us <= self._gpu.host

    def elapsed_time(self, end: Any) -> float:
        return (end.us - self.us) / 1e3  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "late",
    [
        [],
        [900.0],  # a garbage collection before the first launch
        [0.0, 900.0, 900.0],
        [150.0] * 9,  # a host that always takes so long: more flushes
    ],
)
def test_a_cold_launch_for_which_the_host_was_late_is_timed_again(
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    late: list[float],
) -> None:
    gpu = Gpu(late)
    monkeypatch.setitem(sys.modules, "torch", gpu)
    assert module("pooled").cold({"a": gpu.run}, [(None,)], 2) == {"a": pytest.approx([5.0] * 2)}


def test_a_host_that_is_always_late_is_timed_as_often_as_allowed(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Gpu([9000.0] * 99)
    monkeypatch.setitem(sys.modules, "torch", gpu)
    pooled = module("pooled")
    (times,) = pooled.cold({"a": gpu.run}, [(None,)], 2).values()
    assert len(gpu.late) == 99 - 2 * pooled.COLD_TRIES
    assert min(times) > 8000


@pytest.mark.parametrize("batch_ms", [0.4, 250.0])
def test_both_sides_have_as_many_rounds_and_finals_as_long(
    pooled: ModuleType, batch_ms: float
) -> None:
    library = {name: name for name in ("lt0", "lt1", "lt2", "lt3")}
    ours = {name: name for name in ("choice", "a", "b", "c", "d")}
    always = {"torch": "torch", "choice": "choice"}
    told: list[str] = []
    sides = {"library": library, "ours": ours}
    result = pooled.contest(sides, always, [], told.append, pooled.Regime(batch_ms))
    assert result["screen"] == US
    assert not result["mhz"]
    assert set(result["finals"]) == {"torch", "choice", "lt0", "lt1", "lt2", "a", "b"}
    assert {len(us) for us in result["finals"].values()} == {pooled.FINAL_ROUNDS}
    screened = [min(batch_ms, pooled.SCREEN_MS)] * pooled.SCREEN_ROUNDS
    finals = [batch_ms] * pooled.FINAL_ROUNDS
    for name, started in Batch.starts.items():
        assert started == screened + finals * (name in result["finals"])
    rounds = [
        *(f"round {number} of the screen" for number in range(pooled.SCREEN_ROUNDS)),
        *(f"round {number} of the finals" for number in range(pooled.FINAL_ROUNDS)),
    ]
    assert told[-len(rounds) :] == rounds


def test_who_is_twice_as_slow_as_its_side_in_two_long_batches_is_out(
    pooled: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batch, "long", {"torch", "lt0", "lt3", "a", "b", "d"})
    monkeypatch.setitem(US, "lt3", 20.1)
    monkeypatch.setitem(US, "torch", 30.0)
    monkeypatch.setitem(US, "c", 99.0)
    sides = {"library": {"lt0": "lt0", "lt3": "lt3"}, "ours": {n: n for n in ("a", "b", "c", "d")}}
    result = pooled.contest(sides, {"torch": "torch"}, [], lambda _: None, pooled.Regime())
    ran = {name for name, started in Batch.starts.items() if len(started) > 1}
    assert ran == {"torch", "lt0", "a", "b", "c"}
    assert len(Batch.starts["lt3"]) == len(Batch.starts["d"]) == 1
    assert result["screen"] == {name: US[name] for name in ("torch", "lt0", "lt3", *"abcd")}


def test_one_long_batch_leaves_nobody_out(
    pooled: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something else may have run meanwhile."""
    monkeypatch.setattr(Batch, "long", {"a", "b"})
    monkeypatch.setattr(Batch, "lengthen", lambda self, _: {"a": 8.0, "b": 400.0}.get(self._name))
    contest = pooled.Contest([], pooled.Regime())
    for name in ("a", "b"):
        contest.add(name, name)
    assert contest.slow(["a", "b"]) == {}


def test_a_rest_comes_before_each_batch_and_the_clock_is_read_around_it(
    pooled: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(pooled.time, "sleep", lambda s: done.append(f"rest {s}"))
    monkeypatch.setattr(Batch, "start", lambda self: done.append(self._name))
    mhz = iter([1980.0, 1410.0, 1975.0, 1400.0])
    clocks = SimpleNamespace(
        mark=lambda end: done.append("end" if end else "begin"), mhz=lambda: next(mhz)
    )
    monkeypatch.setattr(pooled.random, "sample", lambda names, _: list(names))
    contest = pooled.Contest([], pooled.Regime(4.0, 60.0), clocks)
    for name in ("a", "torch"):
        contest.add(name, name)
    contest.rounds(["a", "torch"], 2, lambda _: None)
    each = [["rest 0.06", "begin", name, "end"] for name in ("a", "torch") * 2]
    assert done == [step for steps in each for step in steps]
    assert contest.mhz == {"a": [1980.0, 1975.0], "torch": [1410.0, 1400.0]}
