"""Times between tokens around a long prefill, on a recording made by hand."""

from types import ModuleType

import pytest

from harness.probe.load.driver import Recording
from harness.probe.load.workload import Request

MS = 1_000_000


def recording(due_ms: int) -> Recording:
    """Two requests decode; the long prompt is computed from 40 to 100 ms in two steps."""
    made = Recording(
        [Request("0", 0, [1], 9), Request("1", 0, [1], 9), Request("long", due_ms * MS, [1], 9)]
    )
    times = {"0": [5, 20, 30, 40, 70, 100, 110], "1": [20, 30, 40, 70, 100, 110], "long": [100]}
    for name, life in made.lives.items():
        life.tokens = [time * MS for time in times[name]]
    return made


def test_gaps_before_count_once_all_decode_and_those_during_overlap_the_wait(
    modules: dict[str, ModuleType],
) -> None:
    # From 5 to 20 ms the other request has no token yet; 100 to 110 is after the first token.
    before, during, ttft = modules["gaps"].gaps_ms(recording(40))
    assert sorted(before) == [10, 10, 10, 10]
    assert sorted(during) == [30, 30, 30, 30]
    assert ttft == 60


def test_a_prompt_that_is_due_within_a_step_makes_that_step_one_of_its_wait(
    modules: dict[str, ModuleType],
) -> None:
    before, during, ttft = modules["gaps"].gaps_ms(recording(35))
    assert (sorted(before), sorted(during)) == ([10, 10], [10, 10, 30, 30, 30, 30])
    assert ttft == 65


def test_a_long_prompt_that_comes_too_early_is_refused(modules: dict[str, ModuleType]) -> None:
    with pytest.raises(SystemExit, match="move long_at_s"):
        modules["gaps"].gaps_ms(recording(25))
