"""From a problem and what the user asked for to ordered cells; pure."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from harness.captures.registry import KINDS
from harness.errors import UsageError
from harness.problem.model import CaptureKind, Device, Problem


@dataclass(frozen=True)
class Selected:
    """What the command line picked; empty means all, no rounds those of the manifest."""

    variants: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    rounds: int | None = None


@dataclass(frozen=True)
class Cell:
    """One process to run: a variant and a case under one capture.

    ``alone``: no other cell may set itself up meanwhile, because this one tunes kernels by timing.
    ``paired``: it compares within itself, so it is not tried again where the GPU was held back.
    """

    variant: str
    case: str
    capture: CaptureKind
    round: int
    params: dict[str, Any]
    settings: dict[str, Any]
    flags: tuple[str, ...]
    deadline_s: float
    environment: str
    alone: bool
    inputs: str
    paired: bool = False

    @property
    def id(self) -> str:
        """Return the cell's name: a readable part and a hash of its inputs."""
        return f"{self.case}.{self.variant}.{self.capture}.r{self.round}-{self.inputs}"


def plan(
    problem: Problem, selected: Selected, device: Device, *, caches: bool = True
) -> list[Cell]:
    """Return the cells in order: all timing first, variants back and forth by round, then the rest.

    Interleaving the rounds keeps a slow drift of the machine from looking like a difference between
    variants. Profiled captures are made once. ``caches``: cells find what earlier ones tuned.
    """
    _known(problem, selected)
    sources = source_hash(problem)
    chosen = [kind for kind in problem.captures if kind in (selected.captures or problem.captures)]
    cells = []
    for kind in sorted(chosen, key=lambda kind: not KINDS[kind].unprofiled):
        rounds = [_rounds(problem, selected, kind, case) for case in problem.cases]
        for number in range(max(rounds)):
            cells += _round(problem, selected, device, kind, number, sources)
    if not cells:
        raise UsageError(
            f"nothing to run on {device}",
            remedy="the variants, cases and captures chosen do not meet, or need the other device",
        )
    return _alone(problem, cells, caches=caches)


def _round(
    problem: Problem,
    selected: Selected,
    device: Device,
    kind: CaptureKind,
    number: int,
    sources: str,
) -> list[Cell]:
    cells = []
    for case in selected.cases or problem.cases:
        if number >= _rounds(problem, selected, kind, case):
            continue
        variants = [name for name in problem.variants if name in (selected.variants or [name])]
        for variant in variants if number % 2 == 0 else reversed(variants):
            if problem.covers(kind, variant, case, device):
                cells.append(_cell(problem, device, kind, variant, case, number, sources))
    return cells


def _rounds(problem: Problem, selected: Selected, kind: CaptureKind, case: str) -> int:
    """Return in how many processes a cell is repeated: what is profiled is recorded once."""
    if not KINDS[kind].unprofiled:
        return 1
    return selected.rounds or problem.cases[case].rounds or problem.captures[kind].rounds


def _cell(
    problem: Problem,
    device: Device,
    kind: CaptureKind,
    variant: str,
    case: str,
    number: int,
    sources: str,
) -> Cell:
    capture = problem.captures[kind]
    small = problem.cases[case].on_cpu if device == "cpu" else {}
    params = {**problem.cases[case].params, **small, **problem.variants[variant].options}
    settings = {"warmup": 3, "steps": 1, **capture.settings}
    environment = problem.environments[problem.variants[variant].environment]
    lock = (problem.folder / environment.lock).read_text() if environment.lock else ""
    made_from = [params, settings, capture.flags, device, lock, sources, number]
    return Cell(
        variant=variant,
        case=case,
        capture=kind,
        round=number,
        params=params,
        settings=settings,
        flags=tuple(capture.flags),
        deadline_s=capture.deadline_s,
        environment=problem.variants[variant].environment,
        alone=False,
        inputs=hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:8],
        paired=problem.cases[case].paired,
    )


def _alone(problem: Problem, cells: list[Cell], *, caches: bool) -> list[Cell]:
    """Mark the cells that tune: with ``caches`` the first of each variant and case, else all."""
    seen: set[tuple[str, str]] = set()
    marked = []
    for cell in cells:
        key = (cell.variant, cell.case)
        tunes = problem.variants[cell.variant].tunes and not (caches and key in seen)
        seen.add(key)
        marked.append(replace(cell, alone=True) if tunes else cell)
    return marked


def source_hash(problem: Problem) -> str:
    """Return a sha256 of every script and data file that the problem's cells run or read."""
    digest = hashlib.sha256()
    for path in problem.scripts:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _known(problem: Problem, selected: Selected) -> None:
    if selected.rounds is not None and selected.rounds < 1:
        raise UsageError("--rounds has to be at least 1")
    for kind in ("variants", "cases", "captures"):
        names = getattr(problem, kind)
        for name in getattr(selected, kind):
            if name not in names:
                raise UsageError(
                    f"problem {problem.folder.name} has no {kind[:-1]} {name!r}",
                    remedy=f"there are: {', '.join(names)}",
                )
