"""What part of a program's time a profiled launch stands for, with a timeline and without."""

from dataclasses import dataclass

import pytest

from harness.analysis.diagnose import launch_time, timeline_view
from tests.support.programs import US, Program


@dataclass(frozen=True)
class Launch:
    """A profiled launch of a kernel that takes ``share`` of all that were profiled."""

    name: str
    share: float


LAUNCHES = [
    Launch("void gemm<(int)4>(float*)", 0.5),
    Launch("void gemm<(int)4>(float*)", 0.3),
    Launch("other", 0.2),
]


def test_launches_of_one_name_divide_its_time_on_the_timeline() -> None:
    program = Program()
    for _ in range(20):
        program.launch(60 * US, "void gemm<4>(float*)")
        program.launch(20 * US, "cast")
        program.work(120 * US)
    (view,) = timeline_view.views([program.capture()])
    gemm = 20 * 60 * US / view.span_ns
    assert launch_time.shares([view], LAUNCHES) == pytest.approx(
        [gemm / 2, gemm / 2, 0.2 * view.compute]
    )


def test_without_a_timeline_the_profiled_launches_are_the_program() -> None:
    assert launch_time.shares([], LAUNCHES) == [0.5, 0.3, 0.2]
