"""When each stage of a request ran on the host's threads and on the GPU, from the first byte."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

STAGES = ("decode", "process", "copy", "encode", "prefill", "get batch", "first token")
"""In their order. In "get batch" the launching thread waits for workers, in "first token" for the
GPU."""


@dataclass(frozen=True)
class Span:
    """A stage of a request in ms from the first byte; ``thread`` 0 launches, "gpu" is -1."""

    stage: str
    request: int
    thread: int
    begun: float
    ended: float


@dataclass
class Clock:
    """Marks stages as ranges that profilers show, and keeps when they were.

    ``alone``: the host waits for the GPU after each stage, so that each is timed by itself.
    """

    device: str
    alone: bool = False
    spans: list[Span] = field(default_factory=list)
    _events: list[tuple[str, int, torch.cuda.Event, torch.cuda.Event]] = field(default_factory=list)
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
                self._events.append((name, request, first, last))

    def stop(self) -> None:
        """Read the GPU's times, once all work is done."""
        for name, request, first, last in self._events:
            begun = self._first.elapsed_time(first)
            self.spans.append(Span(name, request, -1, begun, self._first.elapsed_time(last)))
        self._events.clear()

    def total(self, stage: str, *, gpu: bool = False) -> float:
        """Return the ms of a stage, summed over requests, on the host or on the GPU."""
        return sum(
            span.ended - span.begun
            for span in self.spans
            if span.stage == stage and (span.thread < 0) == gpu
        )


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
