"""``harness run``: execute a problem's cells on this machine."""

import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, engine_options, output
from harness.cli.problem_argument import Problem

if TYPE_CHECKING:
    from harness.analysis.scope import Scope
    from harness.cli.account import Executed
    from harness.run.durations import Known
    from harness.run.session import Here, Request, Work

_SOME_FAILED = 4


@dataclass(frozen=True)
class RanCell:
    """A cell of a run."""

    id: str
    variant: str
    case: str
    capture: str
    round: int
    status: str
    reason: str
    wall_s: float


@dataclass(frozen=True)
class Ran:
    """A run, what was told of it, and its worklog if one was written."""

    run: str
    engine: str
    told: list[str]
    cells: list[RanCell]
    worklog: str | None


_ONLY = "Only this one; may be given again."
Variants = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.variants)]
Cases = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.cases)]
Captures = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.captures)]
Part = Annotated[
    str | None,
    typer.Option(metavar="I/N", help="Run one part of the plan: 0/8 is the first of at most 8."),
]
Gpus = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Run cells side by side on these GPUs, such as 0,2."),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Cells that set up side by side; one measures. As the machine bears."),
]
LockClocks = Annotated[
    int | None,
    typer.Option(metavar="MHZ", help="Hold the SM clock at so many MHz; undone at the end.", min=1),
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Go on with this run, or with a published report's."),
]
Bisect = Annotated[
    str | None,
    typer.Option(metavar="METRIC", help="Find the variant of --case from which this changes."),
]
On = Annotated[
    str | None,
    typer.Option(
        metavar="CLUSTER", help="Run as jobs of this cluster: clusters/NAME.toml, or a path."
    ),
]
Cancel = Annotated[
    bool, typer.Option("--cancel", help="Ctrl-C cancels the cluster's jobs; else they go on.")
]


def run(
    problem: Problem,
    variant: Variants = None,
    case: Cases = None,
    capture: Captures = None,
    rounds: engine_options.Rounds = None,
    engine: engine_options.Engine = "auto",
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    build_arg: engine_options.BuildArguments = None,
    image: engine_options.Image = None,
    mount: engine_options.Mounts = None,
    part: Part = None,
    gpus: Gpus = None,
    jobs: Jobs = None,
    lock_clocks: LockClocks = None,
    full: engine_options.Full = False,
    resume: Resume = None,
    bisect: Bisect = None,
    on: On = None,
    cancel: Cancel = False,
    worklog: Annotated[
        bool, typer.Option("--worklog", help="Then judge its claims and write its worklog.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan; run none.")] = False,
    commands: Annotated[bool, typer.Option("--commands", help="Print lines to paste.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run the cells that a problem's headline claims need.

    With --variant, --case or --capture: those of all cells. Exit code 4 if some of them failed.
    """
    from harness.cli.resolve import note_unsealed
    from harness.problem.plan import Selected
    from harness.run.session import Request, session

    options = engine_options.options(python, wheels, image, mount, build_arg)
    selected = Selected(tuple(variant or ()), tuple(case or ()), tuple(capture or ()), rounds)
    named = tuple(name.strip() for name in gpus.split(",")) if gpus else ()
    shared = (jobs, lock_clocks, resume, full, named, None, _numbers(part))
    request = Request(problem, selected, engine, options, *shared)
    if bisect:
        beside = {"--on": on, "--dry-run": dry_run, "--commands": commands, "--worklog": worklog}
        _bisected(request, bisect, [name for name, given in beside.items() if given], json=json)
        return
    if on:
        _on_cluster(request, on, dry_run=dry_run, cancel=cancel, worklog=worklog, json=json)
        return
    understood = session(request)
    if understood.resumed:
        note_unsealed(understood.resumed)
    if dry_run or commands:
        _print_plan(understood, commands=commands, json=json)
        return
    if worklog:  # a package that it needs and that is not installed fails it before cells run
        import harness.report.publish  # noqa: F401
    if _carried_out(understood, worklog=worklog, json=json):
        raise typer.Exit(_SOME_FAILED)


def _print_plan(asked: "Here", *, commands: bool, json: bool) -> None:
    """Print the lines to paste, or the cells with their durations."""
    from harness.cli import planned

    if commands:
        for line in asked.pasteable():
            output.say(line)
    elif json:
        output.as_json(planned.cells(asked))
    else:
        planned.show(asked)


def _numbers(part: str | None) -> tuple[int, int] | None:
    """Return "0/8" as numbers; UsageError if it is none."""
    from harness.ground.errors import UsageError

    if part is None:
        return None
    number, _, count = part.partition("/")
    if not number.isdecimal() or not count.isdecimal():
        raise UsageError(f"--part {part!r} is not NUMBER/COUNT")
    return int(number), int(count)


def _bisected(request: "Request", metric: str, beside: list[str], *, json: bool) -> None:
    """Run variants until the change of a metric lies between two; ``beside``: what it refuses."""
    from harness.cli import bisected
    from harness.ground.errors import UsageError

    if beside:
        raise UsageError(f"--bisect runs cells here, step by step: it goes without {beside[0]}")

    def execute(asked: "Here") -> Path:
        expected = asked.durations()
        work = _installed(asked, expected, [], json=json)
        _execute(work, expected, quiet=json)
        return work.run.folder

    bisected.bisect(request, metric, execute, json=json)


def _carried_out(asked: "Here", *, worklog: bool, json: bool) -> int:
    """Set up, run the cells, and say how it ended; return how many cells failed."""
    expected = asked.durations()
    messages: list[str] = []
    work = _installed(asked, expected, messages, json=json)
    started = time.monotonic()
    failed = _execute(work, expected, quiet=json)
    scope, report = _published(work, quiet=json) if worklog else (None, None)
    if json:
        _print_json(work, messages, report, work.engine_name)
    else:
        _print_end(work, time.monotonic() - started, scope, report)
    return failed


def _installed(asked: "Here", expected: "Known", messages: list[str], *, json: bool) -> "Work":
    """Say what a run will do, build its engine and make its folder; ``messages``: for JSON."""
    from harness.cli import account
    from harness.cli.waiting import Waiting
    from harness.engines import downloads

    with Waiting(quiet=json) as waiting:
        waiting.say(account.opening(asked, expected))
        if wanted := downloads.in_words(asked.downloads()):
            waiting.say(wanted)
        return asked.install(messages.append if json else waiting.say, waiting.work_on)


def _on_cluster(
    request: "Request", name: str, *, dry_run: bool, cancel: bool, worklog: bool, json: bool
) -> None:
    """Run the cells as a cluster's jobs, or print what would be submitted."""
    from harness.cli import cluster, renamed
    from harness.run.cluster import profile, session

    renamed.refuse(f"run --on {name}")
    asked = session.session(request, profile.load(name))
    if dry_run:
        cluster.show(asked)
        return
    started = time.monotonic()
    batch, told, failed = cluster.carried_out(asked, cancel=cancel, quiet=json)
    scope, report = _published(batch, quiet=json) if worklog else (None, None)
    if json:
        _print_json(batch, told, report, request.engine)
    else:
        _print_end(batch, time.monotonic() - started, scope, report)
    if failed:
        raise typer.Exit(_SOME_FAILED)


def _execute(work: "Work", expected: "Known", *, quiet: bool) -> int:
    """Run the cells and return how many failed; say how to go on if interrupted."""
    from harness.cli import account
    from harness.cli.progress import Progress

    left = work.to_run
    done = len(work.cells) - len(left)
    try:
        with Progress(left, expected.by_cell, done=done, jobs=work.jobs, quiet=quiet) as progress:
            work.execute(progress.notify)
    except KeyboardInterrupt:
        for line in account.interrupted(work, sys.argv):
            output.say(line, to_stderr=True)
        raise
    return progress.failed


def _published(work: "Executed", *, quiet: bool) -> tuple["Scope", Path]:
    """Write the run's report and print its verdicts; return these and the report's folder."""
    from harness.cli import judgement
    from harness.cli.waiting import Waiting
    from harness.extract import door
    from harness.ground import checkout
    from harness.ground.errors import HarnessError
    from harness.report import across, publish

    reports, store = checkout.reports(), checkout.captures()
    try:
        with Waiting(quiet=quiet) as waiting:
            waiting.work_on("reading captures, writing the worklog")
            published = publish.publish(work.problem, work.run, reports, store)
            incomplete = across.renew(reports, checkout.problems())
            evidence = door.report(published.folder)
            _, scope = judgement.judge(work.problem, evidence)
    except HarnessError:
        output.say(f"run: {work.run.folder}", to_stderr=True)  # its cells are whole all the same
        raise
    for error in incomplete:
        output.say(f"the index is incomplete: {error}", to_stderr=True)
    if not quiet:
        judgement.show(work.problem, scope, evidence)
        if published.loss:
            output.say(f"beside the report, which holds more: {published.loss}")
    return scope, published.folder


def _print_end(
    work: "Executed", seconds: float, scope: "Scope | None", report: Path | None
) -> None:
    from harness.cli import account

    ids = {cell.id for cell in work.cells}
    records = [record for _, record in work.run.records() if record.id in ids]
    where = report / "README.md" if report else work.run.folder
    device = work.run.provenance.target.device
    cells = f"{account.statuses(records)} in {seconds:.0f} s"
    output.say(account.ending(cells, where, scope, device))
    if phases := account.spent(records):
        output.say(phases)
    output.say(f"run: {work.run.folder}")
    output.say("next:")
    for command, purpose in account.next_steps(work, sys.argv, report):
        output.say(f"  {command}  # {purpose}")


def _print_json(work: "Executed", messages: list[str], report: Path | None, engine: str) -> None:
    cells = [
        RanCell(**{each.name: getattr(record, each.name) for each in fields(RanCell)})
        for _, record in work.run.records()
    ]
    worklog = str(report / "README.md") if report else None
    output.as_json(Ran(str(work.run.folder), engine, messages, cells, worklog))
