"""Where a cell's process lives; one file and one line here each."""

import contextlib
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness import files
from harness.errors import ToolError, UsageError
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.plan import Cell

CHECKOUT = Path(__file__).resolve().parents[2]
ENGINES = {
    "local": "harness.engines.local:Local",
    "docker": "harness.engines.container:Docker",
    "podman": "harness.engines.container:Podman",
}
"""Name to class, imported when chosen."""


@dataclass(frozen=True)
class Options:
    """What an engine may be told.

    ``python`` is a host's interpreter that has torch, ``wheels`` a folder to install from offline,
    ``image`` one to run in as it is, ``mounts`` host folders to show to containers, read only, and
    ``build_arguments`` are NAME=VALUE for the base image's build.
    """

    python: Path | None = None
    wheels: Path | None = None
    image: str | None = None
    mounts: tuple[Path, ...] = ()
    build_arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """One process: arguments, the variables added to the allow-listed environment, and where.

    ``name`` is the container's, empty for a process of the host. ``owner`` is the user id that the
    output folder has to belong to, where that is not ours.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: Path
    name: str = ""
    owner: int | None = None


class Engine(Protocol):
    """What every engine can do; with ``keeps_caches`` a cell finds what earlier ones tuned."""

    keeps_caches: bool

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the commands that would build what is missing for these environments."""
        ...

    def prepare(self, environments: list[str], log: Path) -> None:
        """Build what is missing; ToolError if that fails."""
        ...

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the process that runs ``cell`` and leaves its files in ``out``."""
        ...

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the processes that turn the profiler's report into files that need no profiler."""
        ...

    def begin(self, command: Command) -> None:
        """Make way for a command that is about to run."""
        ...

    def end(self, command: Command) -> str:
        """See to it that nothing of a command still runs; return why something does."""
        ...

    def why(self, log: str) -> str:
        """Return what a failed command's log says of the engine itself, empty if nothing."""
        ...

    def provenance(self) -> dict[str, object]:
        """Return what it ran in: interpreter, locks, where packages came from."""
        ...


def cell_input(cell: Cell, target: Target, out: str, locks: str) -> str:
    """Return what a workload is told of its cell, with paths as it sees them."""
    given = {
        "variant": cell.variant,
        "case": cell.case,
        "capture": cell.capture,
        "device": target.device,
        "params": cell.params,
        "settings": cell.settings,
        "out": out,
        "lock": f"{locks}/{lock_name(target)}",
        "alone": cell.alone,
    }
    return json.dumps(given)


def lock_name(target: Target) -> str:
    """Return the name of the lock under which cells measure: one a GPU, whoever runs them."""
    return f"{files.safe_name(target.gpu.uuid if target.gpu else 'cpu')}.lock"


def known(wanted: str) -> None:
    """Raise UsageError for a name that is neither an engine's nor "auto"."""
    if wanted not in ("auto", *ENGINES):
        raise UsageError(f"no engine {wanted!r}", remedy=f"there are: auto, {', '.join(ENGINES)}")


def choose(wanted: str, target: Target) -> list[tuple[str, str]]:
    """Return the engines to try, in order, each with the reason that it is tried.

    "auto": a container with the GPU, the local GPU, a container on the CPU, the local CPU.
    """
    known(wanted)
    if wanted != "auto":
        return [(wanted, f"the {wanted} engine, as asked")]
    if target.gpu is None:
        there = [
            (name, f"auto chose {name}: no GPU here, a container on the CPU")
            for name in _answering()
        ]
        return [*there, ("local", "auto chose the local engine: no GPU here: the local CPU")]
    name = target.gpu.name
    with_gpu = [
        (engine, f"auto chose {engine}: a container with the {name}")
        for engine in _answering(gpu=True)
    ]
    return [*with_gpu, ("local", f"auto chose the local engine: a local {name}")]


def ready(
    wanted: str,
    problem: Problem,
    target: Target,
    options: Options,
    environments: list[str],
    told: Callable[[str], None],
) -> tuple[str, Engine]:
    """Return the first engine of ``choose`` that could build what it needs, and its name.

    ``told`` hears which it is and why, and for "auto" what kept the ones before it. Raises
    ToolError if the last one cannot either.
    """
    candidates = choose(wanted, target)
    for name, why in candidates:
        try:
            engine = make(name, problem, target, options)
            engine.prepare(environments, CHECKOUT / ".envs" / f"install-{name}.txt")
        except ToolError as error:
            if name == candidates[-1][0]:
                raise
            told(f"auto passed {name} over: {error}")
            continue
        told(why)
        return name, engine
    raise AssertionError("choose returns at least one engine")


def _answering(*, gpu: bool = False) -> list[str]:
    """Return the container engines that answer, and can give a container the GPU if that counts."""
    from harness.engines.docker_cli import Client

    found = []
    for name in ("docker", "podman"):
        with contextlib.suppress(ToolError):
            client = Client(name)
            client.version()
            if not gpu or client.has_gpus():
                found.append(name)
    return found


def make(name: str, problem: Problem, target: Target, options: Options) -> Engine:
    """Return an engine of that name."""
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)(problem, target, options)
    return engine
