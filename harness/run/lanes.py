"""Cells of several GPUs of one host, side by side: each GPU's on an engine of its own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from harness.problem.plan import Cell
from harness.run.execute import Execution


@dataclass(frozen=True)
class Lane:
    """An execution on one GPU, and its cells."""

    execution: Execution
    cells: Sequence[Cell]

    def execute(self) -> None:
        """Run the lane's unfinished cells, as :meth:`Execution.execute` does."""
        self.execution.execute(list(self.cells))


def execute(beside: Sequence[Lane], in_turn: Lane) -> None:
    """Run the lanes ``beside`` each other, then the cells that no other GPU's may run beside.

    The caller holds the run. Raises what a lane raises, once all have stopped.
    """
    if len(beside) == 1:
        beside[0].execute()
    elif beside:
        _together(beside)
    if in_turn.cells:
        in_turn.execute()


def _together(lanes: Sequence[Lane]) -> None:
    pool = ThreadPoolExecutor(len(lanes))
    try:
        for future in as_completed([pool.submit(lane.execute) for lane in lanes]):
            future.result()
    except BaseException:
        for lane in lanes:
            lane.execution.interrupt()
        raise
    finally:
        pool.shutdown(wait=True)
