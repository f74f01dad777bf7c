"""A run from request to cells: understand all that was asked, then install, then execute."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness import checkout
from harness.engines import choose
from harness.engines.engine import Engine, Node
from harness.engines.options import Options
from harness.errors import UsageError
from harness.evidence.provenance import Arguments, Origin
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, has_short_path, plan
from harness.run import calibrate, dry_run, durations, provenance
from harness.run.durations import Key
from harness.run.execute import Execution, Notify, unfinished
from harness.run.queue import most_jobs
from harness.store.run_folder import Run


@dataclass(frozen=True)
class Request:
    """What a user asks of a run; ``session`` checks all of it.

    ``problem`` is a number, a name or a folder. Without ``selected`` variants, cases or captures it
    is the short path, unless ``full`` asks for all or ``resume`` is a run folder, whose plan goes
    on. ``engine`` is an engine's name or "auto"; ``jobs`` the number of cells that set up side by
    side, None for as many as the machine bears; ``lock_mhz`` the SM clock to hold.
    """

    problem: str
    selected: Selected = field(default_factory=Selected)
    engine: str = "auto"
    options: Options = field(default_factory=Options)
    jobs: int | None = None
    lock_mhz: int | None = None
    resume: Path | None = None
    full: bool = False


@dataclass(frozen=True)
class Session:
    """A request that was understood; nothing is written or installed yet."""

    request: Request
    problem: Problem
    node: Node
    selected: Selected
    cells: list[Cell]
    resumed: Run | None

    @property
    def environments(self) -> list[str]:
        """Return the names of the environments that the cells need."""
        return sorted({cell.environment for cell in self.cells})

    @property
    def jobs(self) -> int:
        """Return how many cells set themselves up side by side."""
        return self.request.jobs or most_jobs(self.node.target)

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that the run which goes on has not finished; all of a new run."""
        return unfinished(self.resumed, self.cells) if self.resumed else self.cells

    def of_all(self) -> int:
        """Return how many cells the problem has here, in the plan or not."""
        target = self.node.target
        return len(plan(self.problem, Selected(), target.device, gpus=len(target.gpus)))

    def durations(self) -> dict[Key, float]:
        """Return the seconds that the same cells took before on this model of machine."""
        name, target = self.problem.folder.name, self.node.target.name
        return durations.earlier(checkout.runs(), checkout.reports(), name, target, self.cells)

    def pasteable(self) -> Iterator[str]:
        """Yield the shell lines that would do the same by hand, with the first engine to try."""
        name, _ = choose.choose(self.request.engine, self.node.target)[0]
        engine = choose.make(name, self.problem, self.node, self.request.options)
        yield from dry_run.pasteable(engine, self.cells, self.environments)

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
            gpus=len(target.gpus),
        )
        jobs = self.jobs
        arguments = Arguments(
            rounds=self.selected.rounds,
            jobs=jobs,
            engine=name,
            cells=len(cells),
            lock_clocks_mhz=request.lock_mhz,
            short=self.selected.short,
            full=request.full and request.selected == Selected(),
            planned=tuple(cell.name for cell in cells),
        )
        ceilings = None
        if request.lock_mhz is not None:
            notify("no ceilings: they are measured at other clocks than those held now")
        elif self.selected.short:  # its page draws no roof, and measuring them takes a minute
            ceilings = calibrate.kept(self.node.target)
        elif not calibrate.measured_by(self.problem):
            work_on("looking up what this machine reaches at most", Path())
            ceilings = calibrate.at_hand(self.node, name, request.options, notify)
        origin = provenance.origin_of(self.problem, engine, arguments, ceilings)
        run = self.resumed or Run.create(checkout.runs(), self.problem.folder.name, origin)
        resumes = origin if self.resumed else None
        return Work(request, self.problem, name, engine, run, cells, jobs, resumes)


@dataclass(frozen=True)
class Work:
    """An engine that is built, a run's folder, and the cells of the plan.

    ``resumes`` is the origin with which an earlier run goes on, None for a new run.
    """

    request: Request
    problem: Problem
    engine_name: str
    engine: Engine
    run: Run
    cells: list[Cell]
    jobs: int
    resumes: Origin | None

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that are not finished."""
        return unfinished(self.run, self.cells)

    def execute(self, notify: Notify) -> None:
        """Run the cells that are unfinished; those that fail are recorded and the rest goes on."""
        work = Execution(self.engine, self.run, notify, self.jobs, self.request.lock_mhz)
        with self.run.alone():
            if self.resumes:
                provenance.note_resumed(self.run, self.resumes)
                work.end_leftovers()
            if not self.to_run:
                return
            work.execute(self.cells)
            if calibrate.measured_by(self.problem) and self.request.lock_mhz is None:
                calibrate.note(self.run, self.engine.node.target)


def session(request: Request) -> Session:
    """Check a request and return its session; this writes nothing.

    Raises UsageError, ManifestError or StoreError for a part that cannot be met, ToolError if the
    engine's program is absent or the GPU offers no such clock.
    """
    choose.known(request.engine)
    if request.jobs is not None and request.jobs < 1:
        raise UsageError("--jobs has to be at least 1")
    resumed = Run.open(request.resume) if request.resume else None
    problem = manifest.find(checkout.problems(), request.problem)
    node = choose.node_of(request.engine, request.options)
    if request.lock_mhz is not None:
        node.check_clock(request.lock_mhz)
    request.options.check()
    selected = _selection(request, problem, resumed)
    cells = plan(problem, selected, node.target.device, gpus=len(node.target.gpus))
    if request.engine != "auto":
        choose.make(request.engine, problem, node, request.options)
    if resumed:
        provenance.check_resumable(resumed, problem, node.target)
    return Session(request, problem, node, selected, cells, resumed)


def _selection(request: Request, problem: Problem, resumed: Run | None) -> Selected:
    """Return what to plan: as asked, else as the run that goes on recorded, else the short path."""
    asked = request.selected
    if request.full or asked.variants or asked.cases or asked.captures:
        return asked
    if resumed is None:
        return replace(asked, short=has_short_path(problem))
    record = resumed.provenance
    names = record.planned if asked.rounds is None else frozenset()
    return replace(asked, short=record.is_short, names=names)
