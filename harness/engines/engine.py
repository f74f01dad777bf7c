"""What every engine can do, and the machine that it supplies."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.engines.downloads import Downloads
from harness.engines.options import Options
from harness.evidence.kinds import KINDS
from harness.ground import files, process
from harness.machine.monitor import GpuMonitor
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.plan import Cell

MOST_OUTPUT_BYTES = 16 << 30
"""The most bytes that a cell may leave, in one file as in all of them."""

_COMPILE_THREADS = 4


@dataclass(frozen=True)
class Command:
    """A process: its arguments, what it adds to the allow-listed environment, its folder.

    ``name`` is the container's, empty for a process of the host, and ``removal`` the call that
    removes it. ``owner`` is the user id that the output folder has to belong to, where that is not
    the caller's. ``token_names`` are the variables that carry the run's token: another program may
    pass it on under a name of its own.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: Path
    name: str = ""
    owner: int | None = None
    removal: tuple[str, ...] = ()
    token_names: tuple[str, ...] = (process.RUN,)


class Node(Protocol):
    """The machine that an engine's cells run on: its target, and how its GPU is watched and held.

    ``harness.machine.host.Host`` is this machine.
    """

    @property
    def target(self) -> Target:
        """Return the machine's GPU, CPU, system and tools."""
        ...

    def only(self, gpus: Sequence[str]) -> "Node":
        """Return this machine with these GPUs alone, in their order: indices, or UUIDs' beginnings.

        Raises UsageError for a GPU that the machine does not show, or that is named twice.
        """
        ...

    def monitor(self, token: str | None = None) -> GpuMonitor:
        """Return a monitor of the GPU that cells use; without a GPU it takes no samples.

        ``token`` is that of the run, None outside a run; processes without it are others.
        """
        ...

    def hold_gpus(self, count: int) -> AbstractContextManager[None]:
        """Keep other runs off the first ``count`` GPUs; ToolError if another run holds one."""
        ...

    def check_clock(self, mhz: int) -> None:
        """Raise UsageError without a GPU, ToolError if its SM clock cannot be held at ``mhz``."""
        ...

    def hold_clock(self, mhz: int) -> AbstractContextManager[None]:
        """Hold the GPU's SM clock at ``mhz`` meanwhile; ToolError if the GPU refuses."""
        ...


class Engine(Protocol):
    """Runs cells on a node; with ``keeps_caches`` a cell finds the kernels that earlier ones tuned.

    An engine is made of a problem, its node and its options.
    """

    keeps_caches: bool
    node: Node

    def __init__(self, problem: Problem, node: Node, options: Options) -> None: ...

    @classmethod
    def find_node(cls, options: Options) -> Node:
        """Return the machine that cells would run on; nothing is built or started for that."""
        ...

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the commands that would build the missing parts of these environments."""
        ...

    def downloads(self, environments: list[str]) -> Downloads:
        """Return what ``prepare`` would download; nothing is built or fetched for that."""
        ...

    def prepare(self, environments: list[str], log: Path) -> None:
        """Build the missing parts; ToolError if that fails."""
        ...

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the process that runs ``cell`` and leaves its files in ``out``."""
        ...

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the processes that turn the profiler's report into files that need no profiler."""
        ...

    def begin(self, command: Command) -> None:
        """Note that a command is about to run."""
        ...

    def end(self, command: Command) -> str:
        """Stop everything of a command that still runs; return why something could not be."""
        ...

    def end_run(self, run: Path) -> None:
        """Remove what an earlier harness left running of the run in that folder.

        Its processes on this host have ended. Raises ToolError if something still runs.
        """
        ...

    def why(self, command: Command, log: str) -> str:
        """Return the engine's own reason that a command failed; empty if it has none."""
        ...

    def provenance(self) -> dict[str, object]:
        """Return the record of the engine: interpreter, locks, and the source of packages."""
        ...


class OnHost:
    """An engine whose node is this machine."""

    @classmethod
    def find_node(cls, options: Options) -> Node:  # noqa: ARG003 - another engine's may depend on it
        """Return this machine."""
        from harness.machine.host import Host

        return Host.detect()

    def downloads(self, environments: list[str]) -> Downloads:  # noqa: ARG002
        """Return nothing: what it needs is here."""
        return Downloads()


def cell_input(cell: Cell, target: Target, out: str, locks: str) -> str:
    """Return a cell as the JSON that its workload reads, with the paths that the workload sees."""
    content = {
        "variant": cell.variant,
        "case": cell.case,
        "capture": cell.capture,
        "hook": KINDS[cell.capture].hook,
        "device": target.device,
        "params": cell.params,
        "settings": cell.settings,
        "out": out,
        "lock": f"{locks}/{lock_name(target)}",
        "alone": cell.alone,
    }
    return json.dumps(content)


def compile_threads(cell: Cell, target: Target) -> dict[str, str]:
    """Return the environment that bounds the processes in which Inductor compiles.

    Each of them imports torch, and by default there are as many as cores, for each cell. A cell
    that tunes alone has all cores. Under a profiler's program there are no such processes, because
    it would follow them.
    """
    most = target.cores if cell.alone else min(_COMPILE_THREADS, target.cores)
    threads = 1 if KINDS[cell.capture].tool else most
    return {"TORCHINDUCTOR_COMPILE_THREADS": str(threads)}


def lock_name(target: Target) -> str:
    """Return the name of the lock under which cells measure: one for each GPU."""
    return f"{files.safe_name(target.gpu.uuid if target.gpu else 'cpu')}.lock"
