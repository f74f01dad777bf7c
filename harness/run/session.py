"""A run from request to cells: understand all that was asked, then install, then execute."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.engines import choose
from harness.engines.downloads import Downloads
from harness.engines.engine import Engine, Node
from harness.engines.options import Options
from harness.evidence import calls
from harness.evidence.provenance import Ceilings, Origin, RunArguments
from harness.ground import checkout
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import UsageError
from harness.machine.target import Target
from harness.problem import comparisons, manifest, state
from harness.problem.model import Problem
from harness.problem.plan import Able, Cell, Selected, has_short_path, plan
from harness.run import calibrate, durations, lanes, provenance
from harness.run.durations import Known
from harness.run.execute import Execution, Notify, locks, unfinished
from harness.run.lanes import GpuLane
from harness.run.output import OUT
from harness.run.queue import most_jobs
from harness.store import continued
from harness.store.run_folder import Run


@dataclass(frozen=True)
class Request:
    """A user's request of a run; ``session`` checks all of it.

    ``problem`` is a number, a name or a folder. Without ``selected`` variants, cases or captures it
    is the short path, unless ``full`` asks for all or ``resume`` is the folder of a run or a
    report, whose plan goes on. ``engine`` is an engine's name or "auto"; ``jobs`` the number of
    cells that set up side by side, None for as many as the machine bears; ``lock_mhz`` the SM clock
    to hold. ``gpus`` are the GPUs that run cells side by side, by index or UUID; if empty, the
    first runs them all. ``runs`` is the folder that gets a new run's, the checkout's if None.
    ``part``: of the plan dealt to at most so many jobs, the cells of the job of that number, from
    0.
    """

    problem: str
    selected: Selected = field(default_factory=Selected)
    engine: str = "auto"
    options: Options = field(default_factory=Options)
    jobs: int | None = None
    lock_mhz: int | None = None
    resume: Path | None = None
    full: bool = False
    gpus: tuple[str, ...] = ()
    runs: Path | None = None
    part: tuple[int, int] | None = None


@dataclass(frozen=True)
class Session:
    """A request that was understood, wherever its cells run; nothing is written yet."""

    request: Request
    problem: Problem
    selected: Selected
    cells: list[Cell]
    resumed: Run | None

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that the run which goes on has not finished; all of a new run."""
        return unfinished(self.resumed, self.cells) if self.resumed else self.cells

    def arguments(self, engine: str, jobs: int | None, cells: list[Cell]) -> RunArguments:
        """Return what a run records of its request and plan."""
        return RunArguments(
            rounds=self.selected.rounds,
            jobs=jobs,
            engine=engine,
            cells=len(cells),
            lock_clocks_mhz=self.request.lock_mhz,
            short=self.selected.short,
            full=self.request.full and self.request.selected == Selected(),
            planned=tuple(cell.name for cell in cells),
        )


@dataclass(frozen=True)
class Here(Session):
    """A session whose cells run on this host, on the GPUs of ``node``."""

    node: Node

    @property
    def environments(self) -> list[str]:
        """Return the names of the environments that the cells need."""
        return sorted({cell.environment for cell in self.cells})

    @property
    def jobs(self) -> int:
        """Return how many cells set themselves up side by side."""
        return self.request.jobs or most_jobs(self.node.target)

    def of_all(self) -> int:
        """Return how many cells the problem has here, in the plan or not."""
        target = self.node.target
        here = able(target, self.request.engine)
        return len(plan(self.problem, Selected(), target.device, here=here))

    def durations(self) -> Known:
        """Return what the same cells took before, on this model of machine if it is known."""
        name, target = self.problem.folder.name, self.node.target.name
        return durations.known(checkout.runs(), checkout.reports(), name, target, self.cells)

    def downloads(self) -> Downloads:
        """Return the downloads of the first engine to try."""
        name, _ = choose.choose(self.request.engine, self.node.target)[0]
        engine = choose.make(name, self.problem, self.node, self.request.options)
        return engine.downloads(self.environments)

    def pasteable(self) -> Iterator[str]:
        """Yield the shell lines that would do the same by hand, with the first engine to try."""
        name, _ = choose.choose(self.request.engine, self.node.target)[0]
        engine = choose.make(name, self.problem, self.node, self.request.options)
        yield from map(shlex.join, engine.preparation(self.environments))
        for own, cells in self.shares(name, engine, self.cells):
            yield from pasteable(own, cells)

    def shares(
        self, name: str, engine: Engine, cells: list[Cell]
    ) -> list[tuple[Engine, tuple[Cell, ...]]]:
        """Return each GPU's engine and cells, and last ``engine`` with the cells that run in turn.

        Without ``--gpus`` there is one share before the last, and the last has no cells.
        """
        if not self.request.gpus:
            return [(engine, tuple(cells)), (engine, ())]
        nodes = [self.node.only([gpu.uuid]) for gpu in self.node.target.gpus]
        dealt = comparisons.dealt(self.problem, cells, len(nodes))
        own = [
            (choose.make(name, self.problem, node, self.request.options), part)
            for node, part in zip(nodes, dealt.beside, strict=False)
        ]
        return [*own, (engine, dealt.in_turn)]

    def install(
        self, notify: Callable[[str], None], work_on: choose.WorkOn = lambda *_: None
    ) -> "Work":
        """Build an engine, measure ceilings that are out of date, and make the run's folder.

        ``notify`` gets a line for each decision, ``work_on`` what takes long. Raises ToolError if
        no engine can be built, StoreError if another harness executes the run that is to go on.
        """
        request = self.request
        if self.resumed:
            with self.resumed.alone():
                pass  # else it is told before the work of installing
        name, engine = choose.ready(
            request.engine,
            self.problem,
            self.node,
            request.options,
            self.environments,
            notify,
            work_on,
        )
        target = self.node.target
        cells = plan(
            self.problem,
            self.selected,
            target.device,
            caches=engine.keeps_caches,
            here=able(target, self.request.engine),
        )
        jobs = self.jobs
        arguments = self.arguments(name, jobs, cells)
        shares = self.shares(name, engine, cells)
        origins = [
            provenance.origin_of(
                self.problem, own, arguments, self._ceilings(own.node, name, notify, work_on)
            )
            for own, _ in shares[:-1] or shares
        ]
        runs = request.runs or checkout.runs()
        run = (
            self.resumed.begun(runs)
            if self.resumed
            else Run.create(runs, self.problem.folder.name, origins[0])
        )
        further = tuple(origins if self.resumed else origins[1:])
        return Work(request, self.problem, name, engine, run, cells, jobs, further, shares)

    def _ceilings(
        self, node: Node, name: str, notify: Callable[[str], None], work_on: choose.WorkOn
    ) -> Ceilings | None:
        """Return the ceilings of a node's GPU, None where the run has no use for that."""
        if self.request.lock_mhz is not None:
            notify("no ceilings: they are measured at other clocks than those held now")
            return None
        if self.selected.short:  # its page draws no roof, and measuring them takes a minute
            return calibrate.kept(node.target)
        if calibrate.measured_by(self.problem):
            return None
        work_on("looking up what this machine reaches at most", Path())
        return calibrate.at_hand(node, name, self.request.options, notify)


@dataclass(frozen=True)
class Work:
    """An engine that is built, a run's folder, and the cells of the plan.

    ``further`` are origins that the run does not record yet: all of a run that goes on, those of
    further GPUs of a new run. ``shares``: see :meth:`Here.shares`.
    """

    request: Request
    problem: Problem
    engine_name: str
    engine: Engine
    run: Run
    cells: list[Cell]
    jobs: int
    further: tuple[Origin, ...]
    shares: list[tuple[Engine, tuple[Cell, ...]]]

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that are not finished."""
        return unfinished(self.run, self.cells)

    def execute(self, notify: Notify) -> None:
        """Run the cells that are unfinished; those that fail are recorded and the rest goes on."""
        *beside, in_turn = (
            GpuLane(self._execution(own, notify), own_cells) for own, own_cells in self.shares
        )
        with self.run.alone():
            for origin in self.further:
                provenance.note_resumed(self.run, origin)
            if self.request.resume:
                in_turn.execution.end_leftovers()
            if not self.to_run:
                return
            lanes.execute(beside, in_turn, comparisons.comparisons(self.problem, self.cells))
            if calibrate.measured_by(self.problem) and self.request.lock_mhz is None:
                calibrate.note(self.run, self.engine.node.target)

    def _execution(self, engine: Engine, notify: Notify) -> Execution:
        """Return an execution on one share's engine, with its part of the jobs."""
        jobs = self.jobs // max(1, len(self.shares) - 1)
        return Execution(engine, self.run, notify, max(1, jobs), self.request.lock_mhz)


def session(request: Request) -> Here:
    """Check a request and return its session on this host; this writes nothing.

    Raises UsageError, ManifestError or StoreError for a part that cannot be met, ToolError if the
    engine's program is absent or the GPU offers no such clock.
    """
    problem, resumed = asked(request)
    node = choose.node_of(request.engine, request.options)
    if request.gpus:
        node = node.only(request.gpus)
        _of_one_model(node.target)
    if request.lock_mhz is not None:
        node.check_clock(request.lock_mhz)
    request.options.check()
    selected = selection(request, problem, resumed)
    here = able(node.target, request.engine)
    cells = plan(problem, selected, node.target.device, here=here)
    if request.part:
        number, count = request.part
        jobs = comparisons.jobs(problem, cells, max(1, count))
        if not 0 <= number < len(jobs) or count < 1:
            what = f"--part {number}/{count}: the plan makes {len(jobs)} parts, from 0 on"
            raise UsageError(what)
        selected = replace(selected, names=frozenset(cell.name for cell in jobs[number]))
        cells = jobs[number]
    if request.engine != "auto":
        choose.make(request.engine, problem, node, request.options)
    if resumed:
        provenance.check_resumable(resumed, problem, node.target)
    return Here(request, problem, selected, cells, resumed, node)


def able(target: Target, engine: str) -> Able:
    """Return what a machine and an engine can run."""
    return Able(len(target.gpus), target.capability, choose.runs_images(engine))


def asked(request: Request) -> tuple[Problem, Run | None]:
    """Return the problem of a request and the run that goes on, as far as no machine is asked.

    Raises UsageError, ManifestError or StoreError for a part that cannot be met.
    """
    choose.known(request.engine)
    if request.jobs is not None and request.jobs < 1:
        raise UsageError("--jobs has to be at least 1")
    resumed = continued.opened(request.resume) if request.resume else None
    problem = manifest.find(checkout.problems(), request.problem)
    if resumed:
        _check_current(problem, resumed)
    return problem, resumed


def _check_current(problem: Problem, run: Run) -> None:
    """Raise UsageError where a script changed since the cells of the run's report were measured."""
    reported = run.reported
    if reported is None or reported.run.problem != problem.folder.name:
        return
    if changed := state.changed_since(problem, calls.of_evidence(reported)):
        what = f"the report is stale: since its run {state.in_words(changed)} changed"
        raise UsageError(what, where=run.report, remedy="make a new run")


def _of_one_model(target: Target) -> None:
    """Raise UsageError where a target's GPUs differ in model or memory: a run has one target."""
    kinds = {(gpu.name, gpu.memory_bytes) for gpu in target.gpus}
    if len(kinds) > 1:
        names = ", ".join(f"{gpu.index} is {gpu.name}" for gpu in target.gpus)
        raise UsageError(f"--gpus: {names}", remedy="run each model by itself")


def selection(request: Request, problem: Problem, resumed: Run | None) -> Selected:
    """Return what to plan: as asked, else as the run that goes on recorded, else the short path."""
    asked = request.selected
    if request.full or asked.variants or asked.cases or asked.captures or asked.names:
        return asked
    if resumed is None:
        return replace(asked, short=has_short_path(problem))
    record = resumed.provenance
    names = record.planned if asked.rounds is None else frozenset()
    return replace(asked, short=record.is_short, names=names)


def pasteable(engine: Engine, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the shell lines that run each cell."""
    folder = CHECKOUT / "runs" / "by-hand"
    for cell in cells:
        yield f"# {cell.id}"
        yield _line(engine, cell, folder / "cells" / cell.id / OUT, folder / "scratch")


def _line(engine: Engine, cell: Cell, out: Path, scratch: Path) -> str:
    command = engine.command(cell, out, scratch)
    temporary = [command.env["TMPDIR"]] if "TMPDIR" in command.env else []
    before = [
        ["mkdir", "-p", str(out), str(scratch / "locks"), *temporary],
        ["touch", *map(str, locks(scratch, engine.node.target))],
    ]
    if command.owner is not None:
        before.append(["chown", str(command.owner), str(out)])
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in command.env.items())
    run = f"(cd {shlex.quote(str(command.cwd))} && {env} {shlex.join(command.argv)})"
    after = [shlex.join(export.argv) for export in engine.afterwards(cell, out)]
    return " && ".join([*map(shlex.join, before), run, *after])
