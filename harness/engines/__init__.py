"""Where a cell's process lives; one file and one line here each."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import UsageError
from harness.plan import Cell
from harness.problem import Problem
from harness.target import Target

CHECKOUT = Path(__file__).resolve().parents[2]
ENGINES = {"local": "harness.engines.local:Local"}
"""Name to class, imported when chosen."""


@dataclass(frozen=True)
class Options:
    """What an engine may be told: an interpreter that has torch, and a folder of wheels."""

    python: Path | None = None
    wheels: Path | None = None


@dataclass(frozen=True)
class Command:
    """One process: arguments, the variables added to the allow-listed environment, and where."""

    argv: list[str]
    env: dict[str, str]
    cwd: Path


class Engine(Protocol):
    """What every engine can do."""

    def __init__(self, problem: Problem, target: Target, options: Options) -> None: ...

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the commands that would build what is missing for these environments."""
        ...

    def prepare(self, environments: list[str], log: Path) -> None:
        """Build what is missing; ToolError if that fails."""
        ...

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the process that runs ``cell`` and leaves its files in ``out``."""
        ...

    def provenance(self) -> dict[str, object]:
        """Return what it ran in: interpreter, locks, where packages came from."""
        ...


def choose(wanted: str, target: Target) -> tuple[str, str]:
    """Return the engine to use and, for "auto", why it and not another."""
    if wanted == "auto":
        found = f"a local {target.gpu.name}" if target.gpu else "no GPU here: the local CPU"
        return "local", f"auto chose the local engine: {found}"
    if wanted not in ENGINES:
        raise UsageError(f"no engine {wanted!r}", remedy=f"there are: auto, {', '.join(ENGINES)}")
    return wanted, f"the {wanted} engine, as asked"


def make(name: str, problem: Problem, target: Target, options: Options) -> Engine:
    """Return an engine of that name."""
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)(problem, target, options)
    return engine
