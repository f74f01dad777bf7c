"""Progress of a run: a bar with an estimate on a terminal, a plain line for each cell elsewhere."""

import threading
import time
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Self

from rich import progress as rich_progress
from rich.console import Console
from rich.text import Text

from harness.ground.plain import plain
from harness.problem.plan import Cell
from harness.run.durations import Duration

_REFRESH_HZ = 2  # drawing takes CPU time beside a measurement


class Estimate:
    """Estimates the seconds that a run has left; ``expected`` are durations by a cell's name.

    A cell without an earlier duration is expected to take the mean of this run's cells, at first
    that of earlier runs; nothing is estimated while both are unknown. ``jobs`` cells set up side by
    side, and one measures.
    """

    def __init__(
        self, cells: Sequence[Cell], expected: Mapping[str, Duration], jobs: int = 1
    ) -> None:
        self._expected = {
            cell.id: expected[cell.name].of_run(cell, jobs)
            for cell in cells
            if cell.name in expected
        }
        self._waiting = {cell.id for cell in cells}
        self._running: dict[str, float] = {}
        self._durations: list[float] = []
        self._jobs = jobs

    def start(self, cell: Cell, now: float) -> None:
        """Note that a cell starts at ``now``, in seconds of any clock."""
        self._waiting.remove(cell.id)
        self._running[cell.id] = now

    def end(self, cell: Cell, seconds: float) -> None:
        """Note that a cell ended after ``seconds``."""
        del self._running[cell.id]
        self._durations.append(seconds / self._jobs)

    def left(self, now: float) -> float | None:
        """Return the seconds from ``now`` to the end of the run, None if they are unknown."""
        durations = self._durations or self._expected.values()
        if not durations:
            return None if self._waiting or self._running else 0.0
        usual = mean(durations)
        ahead = sum(self._expected.get(cell, usual) for cell in self._waiting)
        for cell, started in self._running.items():
            spent = (now - started) / self._jobs
            ahead += max(0.0, self._expected.get(cell, usual) - spent)
        return ahead


class Progress:
    """Shows each cell of a run as it ends, and counts the failed ones.

    ``done`` cells of the run were finished before: it counts on from there.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        expected: Mapping[str, Duration] | None = None,
        *,
        done: int = 0,
        jobs: int = 1,
        quiet: bool = False,
        console: Console | None = None,
    ) -> None:
        self._total = done + len(cells)
        self._done = done
        self._lock = threading.Lock()
        self._running: list[str] = []
        self._estimate = Estimate(cells, expected or {}, jobs)
        self._console = console or Console(highlight=False, quiet=quiet)
        self._bar = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            _Left(self._estimate, self._lock),
            rich_progress.TextColumn("{task.description}", markup=False),
            console=self._console,
            refresh_per_second=_REFRESH_HZ,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=self._total, completed=done)
        self.failed = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def notify(self, cell: Cell, status: str, seconds: float) -> None:
        """Show that a cell starts ("running") or how it ended, with its reason and seconds."""
        name = f"{cell.case} {cell.variant} {cell.capture} round {cell.round}"
        with self._lock:
            if status == "running":
                self._running.append(name)
                self._estimate.start(cell, time.monotonic())
            else:
                self._running.remove(name)
                self._estimate.end(cell, seconds)
                self._done += 1
                self.failed += status != "ok"
                line = f"[{self._done}/{self._total}] {name}: {status}, {seconds:.1f} s"
                self._console.print(plain(line), markup=False, soft_wrap=True)
            running = "; ".join(self._running)
        self._bar.update(self._task, completed=self._done, description=plain(running))


class _Left(rich_progress.ProgressColumn):
    """The estimate of the time that is left."""

    def __init__(self, estimate: Estimate, lock: threading.Lock) -> None:
        super().__init__()
        self._estimate = estimate
        self._lock = lock

    def render(self, task: rich_progress.Task) -> Text:  # noqa: ARG002 - rich's signature
        with self._lock:
            seconds = self._estimate.left(time.monotonic())
        return Text(f"about {in_words(seconds)} left" if seconds else "")


def in_words(seconds: float) -> str:
    """Return a duration as exactly as a reader wants it: "40 s", "12 min" or "3 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
