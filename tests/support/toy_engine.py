"""An engine in one file: cells are shell scripts on a machine that exists nowhere."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from harness.engines import ENGINES
from harness.engines.downloads import Downloads
from harness.engines.engine import Command, Node
from harness.engines.options import Options
from harness.ground import checkout
from harness.machine.monitor import GpuMonitor, GpuSample
from harness.machine.target import Gpu, Target
from harness.problem.model import Problem
from harness.problem.plan import Cell
from tests.support.bench import WELL

GPU = Gpu(0, "GPU-toy", "Toy GPU", "9.0", 1 << 30, "1.0", "13.0")


class ToyNode:
    """A machine whose GPU is named in every call that watches or holds it."""

    target = Target(GPU, "a toy CPU", 2, 1 << 30, "Toy OS", {}, None)

    def __init__(self) -> None:
        self.calls: list[str] = []

    def only(self, gpus: Sequence[str]) -> "ToyNode":
        self.calls.append(f"only {', '.join(gpus)}")
        return self

    def monitor(self, token: str | None = None) -> GpuMonitor:
        self.calls.append("monitor")
        monitor = GpuMonitor(None)
        monitor.samples = [GpuSample(0.0, {"sm_mhz": 1234.0}, (), ())]
        return monitor

    @contextlib.contextmanager
    def hold_gpus(self, count: int) -> Iterator[None]:
        self.calls.append(f"hold {count}")
        yield
        self.calls.append("release")

    def check_clock(self, mhz: int) -> None:
        self.calls.append(f"check {mhz} MHz")

    @contextlib.contextmanager
    def hold_clock(self, mhz: int) -> Iterator[None]:
        self.calls.append(f"hold {mhz} MHz")
        yield
        self.calls.append("release clock")


class Toy:
    """Runs every cell as a script that leaves one sample."""

    keeps_caches = True
    nodes: ClassVar[list[ToyNode]] = []

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        self.node = node

    @classmethod
    def find_node(cls, _options: Options) -> Node:
        cls.nodes.append(ToyNode())
        return cls.nodes[-1]

    def preparation(self, environments: list[str]) -> list[list[str]]:
        return [["toy-install", *environments]]

    def downloads(self, environments: list[str]) -> Downloads:
        return Downloads()

    def prepare(self, environments: list[str], log: Path) -> None:
        pass

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        return Command(["bash", "-c", WELL], {"OUT": str(out)}, out)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        return []

    def begin(self, command: Command) -> None:
        pass

    def end(self, command: Command) -> str:
        return ""

    def end_run(self, run: Path) -> None:
        pass

    def why(self, command: Command, log: str) -> str:
        return ""

    def provenance(self) -> dict[str, object]:
        return {"engine": "toy", "where": "nowhere", "python": "none"}


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch, engine: type[Toy] = Toy) -> None:
    """Make a folder the checkout of this process, in which the engine "toy" runs problem 9."""
    monkeypatch.setitem(ENGINES, "toy", lambda: engine)
    monkeypatch.setattr(checkout, "CHECKOUT", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr("sys.argv", ["harness", "run", "9"])
    monkeypatch.chdir(folder)
