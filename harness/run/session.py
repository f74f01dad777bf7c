"""A run from request to cells: understand all that was asked, then install, then execute."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness import checkout
from harness.engines import choose
from harness.engines.engine import Engine, Node
from harness.engines.options import Options
from harness.errors import UsageError
from harness.evidence.provenance import Arguments
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.run import calibrate, dry_run, provenance
from harness.run.durations import Key, earlier
from harness.run.execute import Execution, Notify, unfinished
from harness.run.queue import most_jobs
from harness.store.run_folder import Run


@dataclass(frozen=True)
class Request:
    """What a user asks of a run; ``session`` checks all of it.

    ``problem`` is a number, a name or a folder; ``engine`` an engine's name or "auto"; ``jobs`` the
    number of cells that set up side by side, None for as many as the machine bears; ``lock_mhz``
    the SM clock to hold; ``resume`` the run folder to go on with.
    """

    problem: str
    selected: Selected = field(default_factory=Selected)
    engine: str = "auto"
    options: Options = field(default_factory=Options)
    jobs: int | None = None
    lock_mhz: int | None = None
    resume: Path | None = None


@dataclass(frozen=True)
class Session:
    """A request that was understood; nothing is written or installed yet."""

    request: Request
    problem: Problem
    node: Node
    cells: list[Cell]
    resumed: Run | None

    @property
    def environments(self) -> list[str]:
        """Return the names of the environments that the cells need."""
        return sorted({cell.environment for cell in self.cells})

    def pasteable(self) -> Iterator[str]:
        """Yield the shell lines that would do the same by hand, with the first engine to try."""
        name, _ = choose.choose(self.request.engine, self.node.target)[0]
        engine = choose.make(name, self.problem, self.node, self.request.options)
        yield from dry_run.pasteable(engine, self.cells, self.environments)

    def install(self, notify: Callable[[str], None]) -> "Work":
        """Build an engine, measure ceilings that are out of date, and make the run's folder.

        ``notify`` gets a line for each decision. Raises ToolError if no engine can be built.
        """
        request = self.request
        name, engine = choose.ready(
            request.engine, self.problem, self.node, request.options, self.environments, notify
        )
        cells = plan(
            self.problem, request.selected, self.node.target.device, caches=engine.keeps_caches
        )
        jobs = request.jobs or most_jobs(self.node.target)
        arguments = Arguments(
            rounds=request.selected.rounds,
            jobs=jobs,
            engine=name,
            cells=len(cells),
            lock_clocks_mhz=request.lock_mhz,
        )
        ceilings = None
        if request.lock_mhz is None:
            ceilings = calibrate.at_hand(self.node, name, request.options, notify)
        else:
            notify("no ceilings: they are measured at other clocks than those held now")
        origin = provenance.origin_of(self.problem, engine, arguments, ceilings)
        if self.resumed:
            run = self.resumed
            provenance.note_resumed(run, origin)
        else:
            run = Run.create(checkout.runs(), self.problem.folder.name, origin)
        return Work(request, name, engine, run, unfinished(run, cells), jobs)


@dataclass(frozen=True)
class Work:
    """An engine that is built, a run's folder, and the cells that are still to run."""

    request: Request
    engine_name: str
    engine: Engine
    run: Run
    cells: list[Cell]
    jobs: int

    def durations(self) -> dict[Key, float]:
        """Return the seconds that the same cells took in earlier runs on this model of machine."""
        problem, target = self.run.provenance.problem, self.engine.node.target.name
        return earlier(checkout.runs(), problem, target, self.cells)

    def execute(self, notify: Notify) -> None:
        """Run the cells; those that fail are recorded and the rest goes on."""
        work = Execution(self.engine, self.run, notify, self.jobs, self.request.lock_mhz)
        work.execute(self.cells)


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
    cells = plan(problem, request.selected, node.target.device)
    if request.engine != "auto":
        choose.make(request.engine, problem, node, request.options)
    if resumed:
        provenance.check_resumable(resumed, problem, node.target)
    return Session(request, problem, node, cells, resumed)
