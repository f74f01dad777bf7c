"""The fair contest: all contenders of a shape pooled, in random order, in the same rounds.

First every contender of both sides runs the same few short batches (the screen); then the fastest
of each side run many, interleaved. Both sides choose from their finals, after the same number of
rounds. Further columns: without dependent launches, and with L2 flushed before each launch.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ladder import Run
from pool import Operands

SCREEN_ROUNDS, FINAL_ROUNDS, COLD_ROUNDS = 3, 16, 9
FINALISTS = 3
"""Contenders of each side that reach the finals."""
SLOW = 2.0
"""Times the fastest first batch of its side beyond which a contender is out, by its first batch and
one more, if the first was longer than a batch has to be: of short ones the start would count."""
BATCH_MS = 0.4
SCREEN_MS = 12.0
"""The longest batches of the screen; the finals' can be longer, up to sustained clocks."""
CLOCKED_MS = 2.0
"""Batches from which the multiprocessors' clock is read beside: shorter ones it would hold up."""
FLUSH_BYTES = 256 << 20
"""Bytes written between two launches: several times the L2."""
COLD_TRIES = 5
"""Times that a cold launch is timed at most, if the host is late."""


@dataclass(frozen=True)
class Regime:
    """How a contest loads the GPU: batches of so many ms, each after so many ms of idleness.

    Back to back they keep a GPU at its power cap; after a rest they begin at higher clocks.
    ``rounds``: of the finals.
    """

    batch_ms: float = BATCH_MS
    rest_ms: float = 0.0
    rounds: int = FINAL_ROUNDS


class Batch:
    """Launches of one contender over the rotated operands, as a CUDA graph.

    The probe's batch does the same through ``torch.cuda.graph``, which before each capture empties
    torch's cache and may collect garbage: too long for some fifty contenders of each shape.
    """

    def __init__(self, run: Run, sets: Sequence[Operands], stream: Any) -> None:
        import torch

        self._graph, self._replays, self._launches = torch.cuda.CUDAGraph(), 1, len(sets)
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            for operands in sets:
                run(*operands)  # bind arguments, load modules and allocate before the capture
            stream.synchronize()
            self._graph.capture_begin(capture_error_mode="thread_local")
            for operands in sets:
                run(*operands)
            self._graph.capture_end()

    def lengthen(self, ms: float) -> float | None:
        """Replay the graph as often as it takes to last so long, by one replay's time.

        Returns that in µs a launch if one replay lasts longer, else None.
        """
        self.start()
        us = self.us()
        wanted = ms * 1e3 / (us * self._launches)
        self._replays = max(1, round(wanted))
        return us if wanted < 1 else None

    def start(self) -> None:
        """Launch the batch between two events; returns at once."""
        self._begin.record()
        for _ in range(self._replays):
            self._graph.replay()
        self._end.record()

    def us(self) -> float:
        """Wait for the batch and return its time for one launch."""
        self._end.synchronize()
        ms: float = self._begin.elapsed_time(self._end)
        return ms * 1e3 / (self._launches * self._replays)


class Contest:
    """Batches of the contenders of one shape, timed in interleaved rounds."""

    def __init__(self, sets: Sequence[Operands], regime: Regime, clocks: Any = None) -> None:
        import torch

        self._sets, self._ms = sets, min(regime.batch_ms, SCREEN_MS)
        self._rest_s = regime.rest_ms / 1e3
        self._clocks = clocks
        self.mhz: dict[str, list[float]] = {}
        """Of each contender of the last rounds the clock in its batches, where that is read."""
        self._stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        self._batches: dict[str, Batch] = {}
        self.first: dict[str, float | None] = {}
        """Of each contender the time of its first batch, in µs a launch, if that was long."""

    def add(self, name: str, run: Run) -> None:
        """Capture a contender's batch, and lengthen it to the length of all."""
        batch = Batch(run, self._sets, self._stream)
        self.first[name] = batch.lengthen(self._ms)
        self._batches[name] = batch

    def slow(self, names: Sequence[str]) -> dict[str, float]:
        """Return which of a side's contenders are out after two batches, and the shorter's time.

        A single one can be long because something else ran.
        """
        known = {name: us for name in names if (us := self.first[name])}
        limit = SLOW * min(known.values(), default=0.0)
        out = {}
        for name in (name for name, us in known.items() if us > limit):
            self._batches[name].start()
            out[name] = min(known[name], self._batches[name].us())
        return {name: us for name, us in out.items() if us > limit}

    def lengthen(self, names: Sequence[str], ms: float) -> None:
        """Make batches as long as the finals need, if they are shorter."""
        if ms > self._ms:
            for name in names:
                self._batches[name].lengthen(ms)

    def rounds(
        self, names: Sequence[str], count: int, begins: Callable[[int], None]
    ) -> dict[str, list[float]]:
        """Run every contender once a round, in random order; return the times in µs a launch.

        ``begins`` is told each round's number.
        """
        times: dict[str, list[float]] = {name: [] for name in names}
        self.mhz = {name: [] for name in names if self._clocks}
        for number in range(count):
            begins(number)
            for name in random.sample(list(names), len(names)):
                time.sleep(self._rest_s)
                times[name].append(self._timed(name))
        return times

    def _timed(self, name: str) -> float:
        """Return the time of a contender's batch, in µs a launch, and note its clock."""
        batch, clocks = self._batches[name], self._clocks
        if not clocks:
            batch.start()
            return batch.us()
        clocks.mark(end=False)
        batch.start()
        clocks.mark(end=True)
        self.mhz[name].append(clocks.mhz())
        return batch.us()


def finalists(screened: dict[str, list[float]], names: Sequence[str]) -> list[str]:
    """Return the fastest of these contenders in the screen."""
    return sorted(names, key=lambda name: median(screened[name]))[:FINALISTS]


def cold(runs: dict[str, Run], sets: Sequence[Operands], rounds: int) -> dict[str, list[float]]:
    """Return times in µs of single launches, each after writing more than L2 holds."""
    import torch

    flushed = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    pairs: dict[str, list[tuple[Any, Any]]] = {name: [] for name in runs}
    for index in range(rounds):
        for name in random.sample(list(runs), len(runs)):
            operands = sets[index % len(sets)]
            pairs[name].append(_cold_launch(runs[name], operands, lambda: flushed.fill_(1)))
    torch.cuda.synchronize()
    return {
        name: [begin.elapsed_time(end) * 1e3 for begin, end in measured]
        for name, measured in pairs.items()
    }


def _cold_launch(run: Run, operands: Operands, flush: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the events around a launch that was enqueued before the GPU had finished the flush.

    Where the host was late its delay lies between them: the launch is timed again, after one more
    flush each time, which gives the host longer. What the last try took is kept.
    """
    import torch

    for flushes in range(1, COLD_TRIES + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        for _ in range(flushes):
            flush()
        begin.record()
        run(*operands)
        end.record()
        if not begin.query():
            break
    return begin, end


def contest(
    sides: dict[str, dict[str, Run]],
    always: dict[str, Run],
    sets: Sequence[Operands],
    at: Callable[[str], None],
    regime: Regime,
    clocks: Any = None,
) -> dict[str, Any]:
    """Return the screen's medians and the finals' times, and clocks, of two or more sides.

    ``always``: contenders that reach the finals whatever the screen says. ``at`` is told each
    contender before it first runs, and each round. ``clocks``: of problem 4, to read MHz with.
    """
    match = Contest(sets, regime, clocks)
    for name, run in {
        **always,
        **{n: r for side in sides.values() for n, r in side.items()},
    }.items():
        at(name)
        match.add(name, run)
    out = {
        name: us
        for side in sides.values()
        for name, us in match.slow(list(side)).items()
        if name not in always
    }
    names = [name for name in match.first if name not in out]
    screened = match.rounds(
        names, SCREEN_ROUNDS, lambda number: at(f"round {number} of the screen")
    )
    chosen = dict.fromkeys(always)
    for side in sides.values():
        chosen |= dict.fromkeys(finalists(screened, [name for name in side if name not in out]))
    match.lengthen(list(chosen), regime.batch_ms)
    finals = match.rounds(
        list(chosen), regime.rounds, lambda number: at(f"round {number} of the finals")
    )
    screen = out | {name: median(us) for name, us in screened.items()}
    return {"screen": screen, "finals": finals, "mhz": match.mhz}
