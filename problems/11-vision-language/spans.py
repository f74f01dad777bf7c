"""When each stage of a request ran on the host's threads and on the GPU, from the first byte."""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import torch

Made = TypeVar("Made")

STAGES = ("decode", "process", "copy", "encode", "prefill", "get batch", "first token")
"""In their order. In "get batch" the launching thread waits for workers, in "first token" for the
GPU."""
GPU, AHEAD = -1, -2
"""In place of a host's thread: the GPU, from a stage's first kernel to its last, with the gaps in
which it waits for launches; and the GPU alone, with the launches ahead of it."""
_LONGEST_MS = 60.0
"""Of launches that are tried ahead: those of longer ones wait for the GPU in their midst."""
_MARGIN = 1.25
"""Of the kernel that a stage is launched behind, over the stage's launches."""
_CALIBRATED = 20_000_000
"""Cycles of a kernel that is timed to know the GPU's clock: 10 ms."""


@dataclass(frozen=True)
class Span:
    """A stage of a request in ms from the first byte; ``thread`` 0 launches, or GPU or AHEAD."""

    stage: str
    request: int
    thread: int
    begun: float
    ended: float


@dataclass
class Clock:
    """Marks stages as ranges that profilers show, and keeps when they were.

    ``alone``: the host waits for the GPU after each stage, so that each is timed by itself, and
    what is launched runs again, ahead of the GPU.
    """

    device: str
    alone: bool = False
    spans: list[Span] = field(default_factory=list)
    _events: list[tuple[str, int, int, torch.cuda.Event, torch.cuda.Event]] = field(
        default_factory=list
    )
    _threads: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Set the time of the first byte; the GPU idles."""
        self._threads = {threading.get_ident(): 0}
        if self.device == "cuda":
            torch.cuda.synchronize()
            self._first = torch.cuda.Event(enable_timing=True)
            self._first.record()
        self._zero = time.perf_counter_ns()

    def now(self) -> float:
        """Return the ms since the first byte."""
        return (time.perf_counter_ns() - self._zero) / 1e6

    @contextlib.contextmanager
    def stage(self, name: str, request: int = 0, *, on_gpu: bool = False) -> Iterator[None]:
        """Mark a stage; ``on_gpu``: it launches work, whose time on the GPU is kept, too."""
        timed = on_gpu and self.device == "cuda"
        begun = self.now()
        with _range(name, self.device):
            first = _event() if timed else None
            yield
            last = _event() if timed else None
        ended = self.now()
        if self.alone and timed:
            torch.cuda.synchronize()
        with self._lock:
            thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
            self.spans.append(Span(name, request, thread, begun, ended))
            if first is not None and last is not None:
                self._events.append((name, request, GPU, first, last))

    def launched(self, name: str, request: int, work: Callable[[], Made]) -> Made:
        """Return what ``work`` makes, a stage that launches; ``alone`` it runs twice."""
        with self.stage(name, request, on_gpu=True):
            made = work()
        if self.alone and self.device == "cuda":
            span = self.spans[-1]
            self._ahead(name, request, work, span.ended - span.begun)
        return made

    def _ahead(
        self, name: str, request: int, work: Callable[[], object], launches_ms: float
    ) -> None:
        """Launch a stage behind a kernel that outlasts its launches, so that no gap is left."""
        if launches_ms > _LONGEST_MS:
            return
        torch.cuda._sleep(int(_MARGIN * launches_ms * _cycles_a_ms()))
        first = _event()
        work()
        last = _event()
        torch.cuda.synchronize()
        self._events.append((name, request, AHEAD, first, last))

    def stop(self) -> None:
        """Read the GPU's times, once all work is done."""
        for name, request, thread, first, last in self._events:
            begun = self._first.elapsed_time(first)
            self.spans.append(Span(name, request, thread, begun, self._first.elapsed_time(last)))
        self._events.clear()

    def ms(self, stage: str, where: int = 0) -> dict[int, float]:
        """Return the ms of a stage by request: on the host (0), GPU or AHEAD."""
        return {
            span.request: span.ended - span.begun
            for span in self.spans
            if span.stage == stage and min(span.thread, 0) == where
        }


@functools.cache
def _cycles_a_ms() -> float:
    """Return the GPU's clock, by the time of a kernel that waits for so many cycles."""
    first = _event()
    torch.cuda._sleep(_CALIBRATED)
    last = _event()
    last.synchronize()
    return _CALIBRATED / first.elapsed_time(last)


def _event() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


@contextlib.contextmanager
def _range(name: str, device: str) -> Iterator[None]:
    """Show a stage in torch's trace and, on a GPU, as an NVTX range."""
    with torch.profiler.record_function(name):
        if device != "cuda":
            yield
            return
        torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            torch.cuda.nvtx.range_pop()
