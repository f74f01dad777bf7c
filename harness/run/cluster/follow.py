"""Tells how the cells of submissions go, from what their jobs append to files."""

from collections.abc import Sequence

from harness.problem.plan import Cell
from harness.run.cluster.submission import Submission
from harness.run.execute import Notify


class Follower:
    """Passes the events of jobs on, as an execution on this host would tell them.

    A cell is told once that it runs and once that it ended, whatever a job that was queued again
    does a second time. ``cells`` are those to tell of.
    """

    def __init__(self, submissions: Sequence[Submission], cells: Sequence[Cell]) -> None:
        self._submissions = submissions
        self._waiting = {cell.id: cell for cell in cells}
        self._running: dict[str, Cell] = {}
        self._seen: dict[tuple[str, int], int] = {}

    def tell(self, notify: Notify) -> bool:
        """Tell what is new; return whether every cell has ended."""
        for submission in self._submissions:
            for part in range(len(submission.parts)):
                key = (submission.name, part)
                events = submission.events(part)
                for event in events[self._seen.get(key, 0) :]:
                    self._tell(event.cell, event.status, event.seconds, notify)
                self._seen[key] = len(events)
        return not self._waiting and not self._running

    def _tell(self, cell: str, status: str, seconds: float, notify: Notify) -> None:
        if cell in self._waiting:
            self._running[cell] = self._waiting.pop(cell)
            notify(self._running[cell], "running", 0.0)
        if status != "running" and cell in self._running:
            notify(self._running.pop(cell), status, seconds)
