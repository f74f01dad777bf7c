"""Wall times of a step and a baseline that alternate, on a clock that the test moves."""

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest


class Bench:
    """Steps that take known times, on a machine that slows down from turn to turn."""

    def __init__(self) -> None:
        self.now, self.pending = 0.0, 0.0
        self.ran: list[str] = []

    def step(self, name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            self.ran.append(name)
            self.pending += seconds * (1 + 0.001 * len(self.ran))

        return run

    def synchronize(self) -> None:
        self.now, self.pending = self.now + self.pending, 0.0


@pytest.mark.parametrize("seconds", [1e-4, 2e-3, 0.1])
def test_the_ratio_of_alternating_steps_stands_while_the_machine_slows(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    alternating, bench = module("alternating"), Bench()
    time = SimpleNamespace(perf_counter=lambda: bench.now)
    monkeypatch.setattr(alternating, "time", time)
    ours, theirs = bench.step("ours", 1.5 * seconds), bench.step("theirs", seconds)
    ratios = alternating.wall_ratios(ours, theirs, 21, bench.synchronize)
    assert len(ratios) == 21
    assert sorted(ratios)[10] == pytest.approx(1.5, rel=0.25)
    timed = bench.ran[7:]  # three of each first, then one of the baseline
    steps = len(timed) // 42
    assert steps * seconds >= 0.9 * alternating.BATCH_S
    batches = [timed[at : at + steps] for at in range(0, len(timed), steps)]
    assert all(len(set(batch)) == 1 for batch in batches)
    turns = [(batches[at][0], batches[at + 1][0]) for at in range(0, 42, 2)]
    assert set(turns) == {("ours", "theirs"), ("theirs", "ours")}
