"""Sends requests to an engine by the clock, whether it keeps up or not, and records what came.

The load is open: a request is due at its time, not when the one before it ended, and all latency
counts from then. A driver that waits for the engine would leave out the requests that a stall
delays (coordinated omission; Schroeder, Wierman and Harchol-Balter, NSDI 2006).
"""

import gzip
import json
import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from harness.probe import steady_state
from harness.probe.load.workload import Request

FILE = "load.json.gz"
"""What the harness reads, in the cell's folder."""
_COUNTS = ("kind", "requests", "tokens", "kv_blocks", "host_us", "plan_us")


class Stepped(Protocol):
    """What a step brought.

    It may also have ``admitted`` and ``preempted``: names of the requests that began or went on,
    and of those that were put off.
    """

    @property
    def tokens(self) -> Sequence[tuple[str, int]]:
        """New tokens, each after its request's name."""

    @property
    def ended(self) -> Sequence[str]:
        """Requests that have all of their tokens."""

    @property
    def record(self) -> Mapping[str, float | str]:
        """What the step was, as far as it was measured.

        kind (prefill, decode or mixed), requests, tokens, kv_blocks in use, host_us: before it
        waits for the device, plan_us: of it before the first launch.
        """


class Engine(Protocol):
    """What is driven: requests in, steps made one by one, tokens out."""

    def submit(self, name: str, prompt: Sequence[int], most_new: int, /) -> object:
        """Let a request wait for its turn."""

    def step(self) -> Stepped:
        """Make a step."""


class Clock:
    """The host's clock; a test has another, and sleeps through nothing."""

    def now_ns(self) -> int:
        """Return the time."""
        return time.perf_counter_ns()

    def sleep_ns(self, duration: int) -> None:
        """Wait."""
        time.sleep(duration / 1e9)


@dataclass(frozen=True)
class Slo:
    """What a request is to meet: the time to its first token, and the p99 of its time between."""

    ttft_ms: float
    itl_ms: float


@dataclass
class Life:
    """What came of a request, in ns from the start; None did not happen or was not said."""

    request: Request
    admitted: int | None = None
    tokens: list[int] = field(default_factory=list)
    ended: int | None = None
    preempted: list[tuple[int, int | None]] = field(default_factory=list)

    def preempt(self, now: int) -> None:
        """Note that the engine put it off."""
        self.preempted.append((now, None))

    def admit(self, now: int) -> None:
        """Note that the engine began it, or went on with it."""
        if self.preempted and self.preempted[-1][1] is None:
            self.preempted[-1] = (self.preempted[-1][0], now)
        elif self.admitted is None:
            self.admitted = now

    def meets(self, slo: Slo) -> bool:
        """Return whether it ended, and met both bounds."""
        if self.ended is None or not self.tokens:
            return False
        gaps = [after - before for before, after in pairwise(self.tokens)]
        first = self.tokens[0] - self.request.due_ns
        return first <= slo.ttft_ms * 1e6 and (not gaps or quantile(gaps, 0.99) <= slo.itl_ms * 1e6)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile between order statistics (type 7 of Hyndman and Fan 1996, numpy's)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Recording:
    """The lives of requests by name, in the order in which they are due, and the engine's steps."""

    def __init__(self, requests: Iterable[Request]) -> None:
        ordered = sorted(requests, key=lambda request: request.due_ns)
        self.lives = {request.name: Life(request) for request in ordered}
        self.steps: list[dict[str, Any]] = []
        self.end_ns = 0

    def add(self, stepped: Stepped, begun: int, ended: int) -> None:
        """Keep a step; its tokens are there when it has ended."""
        counts = {name: stepped.record.get(name) for name in _COUNTS}
        self.steps.append({"start_ns": begun, "duration_ns": ended - begun, **counts})
        for name in getattr(stepped, "preempted", ()):
            self.lives[name].preempt(begun)
        for name in getattr(stepped, "admitted", ()):
            self.lives[name].admit(begun)
        for name, _ in stepped.tokens:
            self.lives[name].tokens.append(ended)
        for name in stepped.ended:
            self.lives[name].ended = ended
        self.end_ns = ended

    def warm_up(self) -> int:
        """Return how many of the first requests are warm-up: while the engine fills.

        MSER-5 of the number of requests that were in the engine as each was due. None are if all
        were due at once: that load is never steady.
        """
        due = [life.request.due_ns for life in self.lives.values()]
        if not due or due[0] == due[-1]:
            return 0
        ended = sorted(life.ended for life in self.lives.values() if life.ended is not None)
        inside = [float(place - bisect_right(ended, time)) for place, time in enumerate(due)]
        return steady_state.warm_up(inside)

    def attained(self, slo: Slo) -> float:
        """Return the share of requests after warm-up that met the bounds."""
        met = [life.meets(slo) for life in self.lives.values()][self.warm_up() :]
        return sum(met) / len(met) if met else math.nan

    def save(
        self, folder: Path, slo: Slo | None = None, kv_blocks: int | None = None, load: str = ""
    ) -> None:
        """Write it to ``folder``, with what requests were to meet, and what the load was.

        ``kv_blocks``: all blocks of the cache. ``load`` says it in words: "poisson, 4/s, seed 0".
        """
        lives, warm = list(self.lives.values()), self.warm_up()
        document = {
            "load": {
                "version": 1,
                "what": load,
                "ttft_slo_ns": slo and round(slo.ttft_ms * 1e6),
                "itl_slo_ns": slo and round(slo.itl_ms * 1e6),
                "kv_blocks": kv_blocks,
                "end_ns": self.end_ns,
            },
            "requests": {
                "due_ns": [life.request.due_ns for life in lives],
                "admitted_ns": [life.admitted for life in lives],
                "ended_ns": [life.ended for life in lives],
                "prompt_tokens": [len(life.request.prompt) for life in lives],
                "warm_up": [place < warm for place in range(len(lives))],
                "tokens_ns": [life.tokens for life in lives],
                "preempted_ns": [life.preempted for life in lives],
            },
            "steps": {
                name: [step[name] for step in self.steps]
                for name in ("start_ns", "duration_ns", *_COUNTS)
            },
        }
        with gzip.open(folder / FILE, "wt", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))


def drive(
    engine: Engine,
    requests: Iterable[Request],
    clock: Clock | None = None,
    limit_s: float = 600.0,
) -> Recording:
    """Drive an engine until all requests have ended or ``limit_s`` is over; return what came.

    Requests are submitted between steps, the first time that they are due.
    """
    clock = clock or Clock()
    recording = Recording(requests)
    waiting = deque(life.request for life in recording.lives.values())
    running: set[str] = set()
    start, now = clock.now_ns(), 0
    while (waiting or running) and now < limit_s * 1e9:
        now = clock.now_ns() - start
        while waiting and waiting[0].due_ns <= now:
            request = waiting.popleft()
            engine.submit(request.name, request.prompt, request.most_new)
            running.add(request.name)
        if not running:
            clock.sleep_ns(waiting[0].due_ns - now)
            continue
        begun = clock.now_ns() - start
        stepped = engine.step()
        now = clock.now_ns() - start
        recording.add(stepped, begun, now)
        running.difference_update(stepped.ended)
    return recording
