"""Programs that run on a simulated host and GPU, so that what a finding says can be checked.

The host makes one call after another; a stream runs one operation after another; an operation
starts a moment after its launch, or after the one before it. So a program without a bottleneck can
be run as well, and what it gains is known.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, Tables
from tests.support.timelines import rows

US, MS = 1_000, 1_000_000
LATENCY = 2 * US  # from the end of a launch to the start of its operation
APART = 1 * US  # from an operation to the one behind it in its stream
LAUNCH = 5 * US  # of a launching call
WAKE = 3 * US  # from a device's end to the return of a call that waited for it


class Program:
    """A host thread and one device; all times are ns."""

    def __init__(self, device: int = 0, start: int = 0) -> None:
        self.now = start
        self.device = device
        self._ends: dict[int, int] = {}
        self._rows: dict[str, list[dict[str, object]]] = {
            "gpu_ops": [],
            "api_calls": [],
            "waits": [],
            "ranges": [],
            "cpu_operators": [],
        }

    def work(self, duration: int) -> None:
        """Run host code outside CUDA."""
        self.now += duration

    def compute(self, operator: str, duration: int) -> None:
        """Run an operator on the CPU."""
        row = {"name": operator, "start_ns": self.now, "duration_ns": duration, "thread": 1}
        self._rows["cpu_operators"].append(row)
        self.now += duration

    def wait(self, name: str, duration: int) -> None:
        """Wait in the operating system for another thread or process."""
        row = {"name": name, "start_ns": self.now, "duration_ns": duration, "thread": 1}
        self._rows["waits"].append(row)
        self.now += duration

    def call(self, name: str, duration: int) -> int:
        """Call into CUDA; return the call's correlation id."""
        calls = self._rows["api_calls"]
        number = len(calls) + 1
        calls.append({"name": name, "start_ns": self.now, "duration_ns": duration, "thread": 1})
        calls[-1]["correlation"] = number
        self.now += duration
        return number

    def launch(
        self,
        duration: int,
        name: str = "kernel",
        stream: int = 7,
        grid: str = "256,1,1",
        *,
        behind_all: bool = False,
        nodes: int = 0,
        as_one: bool = False,
    ) -> None:
        """Launch a kernel, or a graph of ``nodes`` of them; traced ``as_one`` it is one operation.

        ``behind_all``: it waits for every stream, as the default stream does.
        """
        number = self.call("cudaGraphLaunch" if nodes else "cudaLaunchKernel", LAUNCH)
        if as_one:
            whole = nodes * (duration + APART) - APART
            self._run("graph", "[CUDA graph 1]", whole, stream, number)
            return
        for _ in range(nodes or 1):
            self._run("kernel", name, duration, stream, number, behind_all=behind_all, grid=grid)

    def copy(
        self,
        size: int,
        duration: int,
        memory: str,
        direction: str = "Host-to-Device",
        stream: int = 7,
    ) -> None:
        """Copy; from pageable memory the host is blocked until it is done."""
        sides = (memory, "Device") if direction == "Host-to-Device" else ("Device", memory)
        name = f"[CUDA memcpy {direction}] ({sides[0]} -> {sides[1]})"
        number = len(self._rows["api_calls"]) + 1
        start = self.now
        self.now += LAUNCH
        end = self._run("copy", name, duration, stream, number, size=size, copy_kind=direction)
        self.now = start
        blocked = end + WAKE - start if memory == "Pageable" else LAUNCH
        self.call("cudaMemcpyAsync", blocked)

    def move_page(self, size: int, duration: int) -> None:
        """Move pages of managed memory to the host, which touched them and waits."""
        name = "[CUDA memcpy Unified Device-to-Host]"
        row: dict[str, object] = {"kind": "copy", "name": name, "start_ns": self.now}
        row |= {"duration_ns": duration, "device": self.device, "stream": None, "bytes": size}
        self._rows["gpu_ops"].append(row | {"copy_kind": "Unified Device-to-Host"})
        self.now += duration

    def synchronise(self, name: str = "cudaStreamSynchronize") -> None:
        """Wait until every stream is done."""
        end = max(self._ends.values(), default=0)
        self.call(name, max(end - self.now, 0) + WAKE)

    @contextmanager
    def marked(self, name: str) -> Iterator[None]:
        """Put what the host does meanwhile in a range."""
        start = self.now
        yield
        row = {"name": name, "start_ns": start, "duration_ns": self.now - start, "thread": 1}
        self._rows["ranges"].append(row)

    def wait_for(self, moment: int, stream: int = 7) -> None:
        """Let a stream do nothing until a moment, as a collective does for the last rank."""
        self._ends[stream] = max(self._ends.get(stream, 0), moment)

    @property
    def ends(self) -> int:
        """Return when the device is done."""
        return max(self._ends.values())

    def tables(self) -> Tables:
        """Return the capture's tables."""
        return {name: rows(name, self._rows.get(name, [])) for name in SCHEMAS}

    def capture(self, label: str = "made") -> Capture:
        """Return the capture as the diagnosis takes it."""
        return Capture(label, self.tables(), {}, "nsys")

    def _run(
        self,
        kind: str,
        name: str,
        duration: int,
        stream: int,
        number: int,
        *,
        behind_all: bool = False,
        grid: str | None = None,
        size: int | None = None,
        copy_kind: str | None = None,
    ) -> int:
        before = max(self._ends.values(), default=-APART) if behind_all else None
        before = self._ends.get(stream, -APART) if before is None else before
        start = max(self.now + LATENCY, before + APART)
        row: dict[str, object] = {"kind": kind, "name": name, "start_ns": start}
        row |= {"duration_ns": duration, "device": self.device, "stream": stream}
        row |= {"grid": grid, "block": grid and "128,1,1", "correlation": number}
        self._rows["gpu_ops"].append(row | {"bytes": size, "copy_kind": copy_kind})
        self._ends[stream] = start + duration
        return start + duration
