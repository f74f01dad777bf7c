"""The order in which waiting cells start, and how many of them run side by side."""

import threading
from collections.abc import Sequence

from harness.machine import room
from harness.machine.target import Target
from harness.problem.plan import Cell

_CORES_A_JOB = 2
"""A cell that sets up is one busy Python thread, and compiles beside it."""
_HOST_BYTES_A_JOB = 8 << 30
_SHARE_OF_GPU = 0.95


def most_jobs(target: Target) -> int:
    """Return how many cells set up side by side by default, as cores and free memory bear.

    On a CPU one: the workload itself takes all cores.
    """
    if target.gpu is None:
        return 1
    memory = room.available_memory() // _HOST_BYTES_A_JOB
    return max(1, min(target.cores // _CORES_A_JOB, memory))


class Queue:
    """Hands out cells in their order to threads, ``jobs`` at a time and as GPU memory bears.

    Cells that are ``alone`` come first, then those that load the host, with nobody beside them: a
    cell that sets up takes cores. With ``caches`` the first cell of a case that uses a variant's
    caches makes them, and the others of that case wait for it.
    """

    def __init__(self, cells: Sequence[Cell], jobs: int, target: Target, *, caches: bool) -> None:
        self._waiting = sorted(cells, key=lambda cell: (not cell.alone, not _by_itself(cell)))
        self._running: list[Cell] = []
        self._making: set[tuple[str, str]] = set()
        self._made: set[tuple[str, str]] = set()
        self._jobs = jobs
        self._gpu_bytes = target.gpu.memory_bytes * _SHARE_OF_GPU if target.gpu else None
        self._caches = caches
        self._changed = threading.Condition()
        self._closed = False

    def take(self) -> Cell | None:
        """Wait for a cell that may start and return it; None when no cell is left to start."""
        with self._changed:
            while self._waiting and not self._closed:
                cell = self.offer()
                if cell is not None:
                    return cell
                self._changed.wait()
            return None

    def offer(self) -> Cell | None:
        """Return the next cell that may start now, None if each has to wait."""
        with self._changed:
            cell = next(filter(self._may_start, self._waiting), None)
            if cell is not None:
                self._waiting.remove(cell)
                self._running.append(cell)
                self._making.add(_of(cell))
            return cell

    def leave(self, cell: Cell) -> None:
        """Note that a cell's process has ended, so that another may start; again does nothing."""
        with self._changed:
            if cell in self._running:
                self._running.remove(cell)
                self._making.discard(_of(cell))
                self._made.add(_of(cell))
                self._changed.notify_all()

    def withdraw(self, cells: Sequence[Cell]) -> bool:
        """Hand these cells out no more, if all of them wait; return whether they did."""
        wanted = {cell.id for cell in cells}
        with self._changed:
            kept = [cell for cell in self._waiting if cell.id not in wanted]
            if self._closed or len(self._waiting) - len(kept) < len(wanted):
                return False
            self._waiting = kept
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Start no further cell."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _may_start(self, cell: Cell) -> bool:
        if any(map(_by_itself, (cell, *self._running))):
            return not self._running
        if any(map(_by_itself, self._waiting)):
            return False
        caches = self._caches and _of(cell) not in self._made and _of(cell) in self._making
        return len(self._running) < self._jobs and self._fits(cell) and not caches

    def _fits(self, cell: Cell) -> bool:
        """Return whether the GPU has memory for the cell; one that is alone always fits."""
        if self._gpu_bytes is None or not self._running:
            return True
        taken = sum(other.gpu_bytes for other in self._running)
        return taken + cell.gpu_bytes <= self._gpu_bytes


def exporters(jobs: int) -> int:
    """Return how many profilers' exports may run beside the jobs; none beside a single job."""
    return max(1, jobs // 4) if jobs > 1 else 0


def _by_itself(cell: Cell) -> bool:
    return cell.alone or cell.loads_host


def _of(cell: Cell) -> tuple[str, str]:
    return cell.caches or cell.variant, cell.case
