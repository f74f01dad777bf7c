"""From a problem and a user's selection to ordered cells; pure."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from harness.evidence.kinds import KINDS
from harness.ground.errors import NothingToRunError, UsageError
from harness.problem.fields import MOST_ROUNDS, SCRIPT, CaptureKind, Device
from harness.problem.model import Problem
from harness.problem.names import nearest
from harness.problem.needs import Spot, Use, uses
from harness.problem.state import scripts


@dataclass(frozen=True)
class Selected:
    """The command line's selection; empty means all, no rounds those of the manifest.

    ``short``: the short path, which is all if no claim is a headline. ``names``: cells by name.
    """

    variants: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    rounds: int | None = None
    short: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cell:
    """One process to run: a variant and a case under one capture.

    ``alone``: no other cell may set itself up meanwhile, because this one tunes kernels by timing.
    ``paired``: it compares within itself, so it is not tried again where the GPU was held back.
    ``gpus``: how many GPUs it uses; ``gpu_bytes``: the memory that it takes at most of each.
    ``loads_host``: it loads what the host's GPUs share, so no other cell runs or sets up beside it.
    ``caches``: the variant under whose name the code lies that it compiles. ``variables``: what its
    process finds in its environment besides what the harness sets. ``script``: what it runs, of the
    problem's folder.
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
    gpus: int = 1
    gpu_bytes: float = 0
    loads_host: bool = False
    caches: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    script: str = SCRIPT

    @property
    def id(self) -> str:
        """Return the cell's name: a readable part and a hash of its inputs."""
        return f"{self.name}-{self.inputs}"

    @property
    def name(self) -> str:
        """Return the cell's name in evidence."""
        return f"{self.case}.{self.variant}.{self.capture}.r{self.round}"


@dataclass(frozen=True)
class Able:
    """What the machine and the engine can run; what is not known leaves out no cell.

    ``gpus``: how many cells may use. ``capability``: their compute capability, such as "9.0".
    ``images``: the engine runs cells whose environment is an image.
    """

    gpus: int | None = None
    capability: str | None = None
    images: bool = False


ALL = Able()


def plan(
    problem: Problem,
    selected: Selected,
    device: Device,
    *,
    caches: bool = True,
    here: Able = ALL,
) -> list[Cell]:
    """Return the cells in order: all timing first, variants back and forth by round, then the rest.

    The short path goes case by case, those that most claims wait for first, so that verdicts come
    early; in each case, timing comes first as well. Interleaving the rounds keeps a slow drift of
    the machine from looking like a difference between variants. Profiled captures are made once.
    ``caches``: cells find what earlier ones tuned. Cells that ``here`` cannot run are left out.
    """
    check_known(problem, selected)
    is_short = selected.short and has_short_path(problem)
    claims = [claim for claim in problem.claims if claim.headline or not is_short]
    read = uses(problem, claims, device)
    planned = _Planned(problem, selected, device, read, is_short, scripts(problem))
    cells = [
        cell
        for kind, cases in (_by_weight(problem, read) if is_short else _all(problem, selected))
        for cell in planned.block(kind, cases)
        if not selected.names or cell.name in selected.names
    ]
    # Named cells were planned before: by a cluster's submission, or by the run that goes on.
    cells = _that_can_run(
        problem, cells, replace(here, capability=None) if selected.names else here
    )
    if is_short and not read:
        raise NothingToRunError(
            f"every headline claim of {problem.folder.name} needs more than a {device.upper()}",
            remedy="--full runs what this machine can",
        )
    if not cells:
        raise NothingToRunError(
            f"nothing to run on {device}",
            remedy="the variants, cases and captures chosen do not meet, or need the other device",
        )
    return _alone(problem, cells, caches=caches)


def _that_can_run(problem: Problem, cells: list[Cell], here: Able) -> list[Cell]:
    """Return the cells that can run ``here``; NothingToRunError if none can."""
    most = max((cell.gpus for cell in cells), default=0)
    few = [cell for cell in cells if here.gpus is None or cell.gpus <= max(here.gpus, 1)]
    if most and not few:
        raise NothingToRunError(
            f"nothing to run: every cell chosen uses {most} GPUs or more than this machine shows",
            remedy="CUDA_VISIBLE_DEVICES lists the GPUs that cells may use",
        )
    able = [
        cell
        for cell in few
        if here.capability is None
        or all(_meets(here.capability, wanted) for wanted in _capabilities(problem, cell))
    ]
    if few and not able:
        wanted = sorted({each for cell in few for each in _capabilities(problem, cell)})
        raise NothingToRunError(
            f"nothing to run: the GPU has compute capability {here.capability}, and every cell"
            f" chosen needs {' and '.join(wanted)}",
            remedy="run it on such a GPU",
        )
    kept = [
        cell for cell in able if here.images or not problem.environments[cell.environment].image
    ]
    if able and not kept:
        raise NothingToRunError(
            "nothing to run: every cell chosen runs in an image of its environment",
            remedy="--engine docker or podman runs it",
        )
    return kept


def _capabilities(problem: Problem, cell: Cell) -> list[str]:
    """Return the compute capabilities that a cell's variant and case need."""
    of = problem.variants[cell.variant], problem.cases[cell.case]
    return [each.capability for each in of if each.capability]


def _meets(capability: str, wanted: str) -> bool:
    """Return whether a GPU's compute capability is ``wanted``, or later where that ends in "+"."""
    has, least = (
        tuple(map(int, text.removesuffix("+").split("."))) for text in (capability, wanted)
    )
    return has >= least if wanted.endswith("+") else has == least


def has_short_path(problem: Problem) -> bool:
    """Return whether the short path of a problem leaves anything out."""
    return any(claim.headline for claim in problem.claims)


_Block = tuple[CaptureKind, list[str]]
"""A kind of capture and the cases whose rounds are interleaved with each other."""


def _all(problem: Problem, selected: Selected) -> list[_Block]:
    chosen = [kind for kind in problem.captures if kind in (selected.captures or problem.captures)]
    cases = list(selected.cases or problem.cases)
    return [(kind, cases) for kind in sorted(chosen, key=lambda kind: not KINDS[kind].unprofiled)]


def _by_weight(problem: Problem, read: dict[Spot, Use]) -> list[_Block]:
    """Return one block a case and kind, by the number of claims that wait for their cells."""
    by_case: Counter[str] = Counter()
    by_block: Counter[tuple[CaptureKind, str]] = Counter()
    for (kind, _, case), use in read.items():
        by_case[case] += use.claims
        by_block[kind, case] += use.claims
    cases = sorted((case for case in problem.cases if case in by_case), key=lambda c: -by_case[c])
    return [
        (kind, [case])
        for case in cases
        for kind in sorted(
            (kind for kind in problem.captures if (kind, case) in by_block),
            key=lambda kind: (not KINDS[kind].unprofiled, -by_block[kind, case]),
        )
    ]


@dataclass(frozen=True)
class _Planned:
    """Makes the cells of a block: which spots are in the plan, and in how many rounds."""

    problem: Problem
    selected: Selected
    device: Device
    read: dict[Spot, Use]
    is_short: bool
    scripts: dict[str, str]

    def block(self, kind: CaptureKind, cases: list[str]) -> list[Cell]:
        """Return the cells of one kind in these cases, its rounds one after the other."""
        names = self.selected.variants
        variants = [name for name in self.problem.variants if name in (names or [name])]
        rounds = {
            (case, variant): self._rounds((kind, variant, case))
            for case in cases
            for variant in variants
        }
        return [
            _cell(self.problem, self.device, kind, variant, case, number, self.scripts)
            for number in range(max(rounds.values()))
            for case in cases
            for variant in (variants if number % 2 == 0 else reversed(variants))
            if number < rounds[case, variant]
        ]

    def _rounds(self, spot: Spot) -> int:
        """Return in how many processes a spot is recorded; 0 if it is not in the plan.

        On a CPU times say nothing, so a timing cell whose samples no claim reads runs once; so it
        does in the short path.
        """
        kind, variant, case = spot
        use = self.read.get(spot)
        if not self.problem.covers(kind, variant, case, self.device):
            return 0
        if self.selected.names:
            start = f"{case}.{variant}.{kind}.r"
            named = [name for name in self.selected.names if name.startswith(start)]
            return max((1 + int(name.removeprefix(start)) for name in named), default=0)
        if self.is_short and use is None:
            return 0
        if not KINDS[kind].unprofiled:
            return 1
        if self.selected.rounds:
            return self.selected.rounds
        capture, in_case = self.problem.captures[kind], self.problem.cases[case].rounds
        most = in_case or capture.rounds
        least = min(most, use.rounds if use else 1)
        if (self.is_short or self.device == "cpu") and not (use and use.sampled):
            return least
        return max(least, min(most, self.problem.short.rounds)) if self.is_short else most


def _cell(
    problem: Problem,
    device: Device,
    kind: CaptureKind,
    variant: str,
    case: str,
    number: int,
    scripts: dict[str, str],
) -> Cell:
    capture = problem.captures[kind]
    small = problem.cases[case].on_cpu if device == "cpu" else {}
    params = {**problem.cases[case].params, **small, **problem.variants[variant].options}
    settings = capture.settings.given()
    environment = problem.environments[problem.variants[variant].environment]
    lock = environment.image or ""
    if environment.lock:
        lock = (problem.folder / environment.lock).read_text()
    variables = problem.variants[variant].variables
    made_from = [params, settings, capture.flags, device, lock, scripts, number]
    made_from += [variables] if variables else []
    script = problem.cases[case].script
    made_from += [script] if script != SCRIPT else []
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
        gpus=problem.cases[case].gpus,
        gpu_bytes=_gpu_memory_gb(problem, variant, case) * 1e9,
        loads_host=problem.cases[case].loads_host,
        caches=problem.variants[variant].caches_of or variant,
        variables=variables,
        script=script,
    )


def _gpu_memory_gb(problem: Problem, variant: str, case: str) -> float:
    """Return the GPU memory that a cell takes at most, in 10⁹ B: the case's, or less."""
    of_case = problem.cases[case].gpu_memory_gb
    return min(of_case, problem.variants[variant].gpu_memory_gb or of_case)


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


def check_known(problem: Problem, selected: Selected) -> None:
    """Raise UsageError for a name that the problem lacks, or a number of rounds that is none."""
    if selected.rounds is not None and not 1 <= selected.rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds has to be at least 1 and at most {MOST_ROUNDS}")
    for kind in ("variants", "cases", "captures"):
        names = getattr(problem, kind)
        for name in getattr(selected, kind):
            if name not in names:
                raise UsageError(
                    f"problem {problem.folder.name} has no {kind[:-1]} {name!r}",
                    remedy=nearest(name, list(names)),
                )
