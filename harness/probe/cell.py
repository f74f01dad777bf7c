"""The cell as its workload sees it: what to run, and where to leave what came of it."""

import contextlib
import faulthandler
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from harness.probe import by_hand, profiler_range, timed_events
from harness.probe.hooks import HOOKS
from harness.probe.names import INPUT, RECORD, WAITING
from harness.probe.series import Series
from harness.probe.turn import Turn


class Cell:
    """One variant and case under one capture, in a process of its own.

    ``params`` holds the variant's options over the case's parameters. ``device`` is "cuda" or
    "cpu". ``out`` is the folder that the harness keeps. ``alone``: no other cell of the run is on
    the device while this one lives. Any cell has the device alone while it times work with CUDA
    events, as Inductor's and Triton's tuners do.
    """

    def __init__(self, description: dict[str, Any]) -> None:
        self.variant: str = description["variant"]
        self.case: str = description["case"]
        self.capture: str = description["capture"]
        self.device: str = description["device"]
        self.params: dict[str, Any] = description["params"]
        self.settings: dict[str, Any] = description["settings"]
        self.out = Path(description["out"])
        self.alone: bool = description["alone"]
        turn = Path(description["lock"])
        self._gpu = Turn(turn, alone=self.alone, sign=self.out / WAITING)
        self._samples: list[dict[str, Any]] = []
        self._sampling: list[dict[str, Any]] = []
        self._windows: list[tuple[float, float, str]] = []
        self._facts: list[dict[str, Any]] = []
        self._declared: dict[str, int] = {}
        self._phases: list[dict[str, Any]] = []
        self._by_hand: bool = description.get("by_hand", False)
        self._hook = HOOKS[description["hook"]](self)
        if self.device == "cuda":
            timed_events.before_each(torch.cuda.Event, self._tune)
        self._hook.begin()

    @classmethod
    def load(cls, imports: Callable[[dict[str, Any]], None] = lambda _: None) -> "Cell":
        """Read the cell that ``harness run`` put this process up for, then ask for the device.

        A script that a user starts takes ``--variant``, ``--case`` and ``--capture`` instead.

        ``imports`` gets the cell's params first: it imports what they need beside other cells'
        measurements, so it leaves the device alone.
        """
        if INPUT in os.environ:
            _tell_where_it_is_ended()
        description = json.loads(os.environ.get(INPUT) or by_hand.describe())
        imports(description["params"])
        return cls(description)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Mark a stretch of the process (load, compile …) on every capture's time axis."""
        self._phases.append({"name": name, "time_us": time.time_ns() // 1000})
        with profiler_range.marked(f"phase:{name}", self.device):
            yield
            self.synchronize()
        self._gpu.end_tuning()
        self._hook.end_phase(name)

    def synchronize(self) -> None:
        """Wait until the device has done everything asked of it."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def fact(self, name: str, value: float | str, unit: str = "") -> None:
        """State something of the workload once: a size, a count, a version."""
        number, text = (None, value) if isinstance(value, str) else (float(value), None)
        self._facts.append({"name": name, "unit": unit, "value": number, "text": text})

    def stated(self, name: str) -> float:
        """Return the number that was stated as ``name``."""
        return next(float(fact["value"]) for fact in self._facts if fact["name"] == name)

    def sample(self, name: str, metric: str, unit: str, values: list[float]) -> None:
        """Keep repeated measurements of ``metric`` in region ``name``, in order."""
        self._keep(name, metric, unit, values, [""] * len(values))

    def sampled(self, name: str, measured: Series, unit: str = "ms", scale: float = 1) -> None:
        """Keep a series with its marks and with how it was sampled; values times ``scale``."""
        values = [value * scale for value in measured.values]
        self._keep(name, measured.metric, unit, values, measured.marks())
        self._sampling.append({"region": name, **measured.summary()})

    @contextlib.contextmanager
    def exclusively(self, name: str = "") -> Iterator[None]:
        """Hold the device alone: no other cell of this run sets up or measures meanwhile.

        What is held alone is what counts, so the harness judges the GPU's state over this stretch:
        of each region by itself, if a cell names several.
        """
        self.synchronize()
        with self._gpu.exclusively():
            start = time.time()
            yield
            self.synchronize()
            self._windows.append((start, time.time(), name))

    def measure(self, name: str, step: Callable[[], object]) -> None:
        """Run ``step`` under this cell's capture, after ``settings['warmup']`` unrecorded calls.

        Unprofiled, a step is timed many times. A profiled region has ``settings['steps']`` steps,
        whose number is declared for the reader to check; each one's latency is kept, too, as it
        says what the profiler cost.
        """
        with self.phase("warmup"):
            for _ in range(self.settings["warmup"]):
                step()
        self._hook.measure(name, step)

    def declare(self, name: str) -> int:
        """Declare the profiled steps of region ``name`` for the reader; return their number."""
        steps: int = self.settings["steps"]
        self._declared[f"step:{name}"] = steps
        return steps

    def finish(self) -> None:
        """Write what was gathered; the last thing a repro does, as others have the GPU now."""
        self.synchronize()
        self._gpu.leave()
        self._hook.finish(self._phases)
        record = {
            "samples": self._samples,
            "sampling": self._sampling,
            "windows": self._windows,
            "facts": self._facts,
            "declared": self._declared,
            "packages": profiler_range.packages(),
            "process": {"started": started(), **self._gpu.end()},
        }
        (self.out / RECORD).write_text(json.dumps(record), encoding="utf-8")
        if self._by_hand:
            by_hand.tell((self.case, self.variant, self.capture, self.device), record, self.out)

    def latency(self, step: Callable[[], object]) -> float:
        """Return the ms from a step's call until the device is idle again."""
        start = time.perf_counter()
        step()
        self.synchronize()
        return (time.perf_counter() - start) * 1e3

    def _tune(self) -> None:
        """Have the device alone until the phase ends."""
        if self._gpu.shared and not torch.cuda.is_current_stream_capturing():
            self.synchronize()
            self._gpu.tune()

    def _keep(
        self, name: str, metric: str, unit: str, values: list[float], marks: list[str]
    ) -> None:
        keys = ("region", "metric", "unit", "index", "value", "mark")
        rows = zip(range(len(values)), values, marks, strict=True)
        self._samples += [dict(zip(keys, (name, metric, unit, *row), strict=True)) for row in rows]


def _tell_where_it_is_ended() -> None:
    """Write, when the harness ends this process, where each of its threads stands."""
    faulthandler.register(signal.SIGTERM, chain=True)


def started() -> float:
    """Return when this process started, in seconds since the epoch (proc(5), "starttime")."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age
