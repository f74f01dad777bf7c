"""Cells of several GPUs of one host, side by side: each GPU's on an engine of its own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from harness.problem.plan import Cell
from harness.run.execute import Execution


@dataclass(frozen=True)
class GpuLane:
    """An execution on one GPU, and its cells."""

    execution: Execution
    cells: Sequence[Cell]

    def execute(self) -> None:
        """Run the lane's unfinished cells, as :meth:`Execution.execute` does."""
        self.execution.execute(list(self.cells))


def execute(
    beside: Sequence[GpuLane], in_turn: GpuLane, comparisons: Sequence[Sequence[Cell]]
) -> None:
    """Run the lanes ``beside`` each other, then the cells that no other GPU's may run beside.

    A lane that has ended takes over ``comparisons`` of which another lane has begun no cell. The
    caller holds the run. Raises what a lane raises, once all have stopped.
    """
    if len(beside) == 1:
        beside[0].execute()
    elif beside:
        _together(beside, comparisons)
    if in_turn.cells:
        in_turn.execute()


def _together(lanes: Sequence[GpuLane], comparisons: Sequence[Sequence[Cell]]) -> None:
    def work(lane: GpuLane) -> None:
        lane.execute()
        others = [other.execution for other in lanes if other is not lane]
        while cells := _taken_over(others, comparisons):
            lane.execution.execute(list(cells))

    pool = ThreadPoolExecutor(len(lanes))
    try:
        for future in as_completed([pool.submit(work, lane) for lane in lanes]):
            future.result()
    except BaseException:
        for lane in lanes:
            lane.execution.interrupt()
        raise
    finally:
        pool.shutdown(wait=True)


def _taken_over(
    others: Sequence[Execution], comparisons: Sequence[Sequence[Cell]]
) -> Sequence[Cell]:
    """Return the cells of a comparison that one of the others gave up; none if none does."""
    return next((cells for cells in comparisons if any(o.give_up(cells) for o in others)), ())
