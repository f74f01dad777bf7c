"""``harness run``: execute a problem's cells on this machine."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import engine_options, output

if TYPE_CHECKING:
    from harness.analysis.scope import Scope
    from harness.run.durations import Key
    from harness.run.session import Session, Work

_SOME_FAILED = 4

Names = Annotated[list[str] | None, typer.Option(help="Only this one; may be given again.")]


def run(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    variant: Names = None,
    case: Names = None,
    capture: Names = None,
    rounds: Annotated[
        int | None, typer.Option(help="Times that each timing cell runs, if not the problem's.")
    ] = None,
    engine: engine_options.Engine = "auto",
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    build_arg: engine_options.BuildArguments = None,
    image: engine_options.Image = None,
    mount: engine_options.Mounts = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Cells that set up side by side; one measures. As the machine bears."),
    ] = None,
    lock_clocks: Annotated[
        int | None, typer.Option(help="Hold the SM clock at so many MHz; undone at the end.", min=1)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Every cell, not only what headline claims need.")
    ] = False,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run folder.")] = None,
    worklog: Annotated[
        bool, typer.Option("--worklog", help="Then judge its claims and write its worklog.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands only.")] = False,
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
    request = Request(problem, selected, engine, options, jobs, lock_clocks, resume, full)
    understood = session(request)
    if understood.resumed:
        note_unsealed(understood.resumed)
    if dry_run:
        for line in understood.pasteable():
            output.say(line)
        return
    if worklog:  # a package that it needs and that is not installed fails it before cells run
        import harness.report.publish  # noqa: F401
    if _carried_out(understood, worklog=worklog, json=json):
        raise typer.Exit(_SOME_FAILED)


def _carried_out(asked: "Session", *, worklog: bool, json: bool) -> int:
    """Set up, run the cells, and say how it ended; return how many cells failed."""
    from harness.cli import account
    from harness.cli.waiting import Waiting

    expected = asked.durations()
    messages: list[str] = []
    with Waiting(quiet=json) as waiting:
        waiting.say(account.opening(asked, expected))
        work = asked.install(messages.append if json else waiting.say, waiting.work_on)
    started = time.monotonic()
    failed = _execute(work, expected, quiet=json)
    scope, report = _published(work, quiet=json) if worklog else (None, None)
    if json:
        _print_json(work, messages, report)
    else:
        _print_end(work, time.monotonic() - started, scope, report)
    return failed


def _execute(work: "Work", expected: dict["Key", float], *, quiet: bool) -> int:
    """Run the cells and return how many failed; say how to go on if interrupted."""
    from harness.cli import account
    from harness.cli.progress import Progress

    left = work.to_run
    done = len(work.cells) - len(left)
    try:
        with Progress(left, expected, done=done, jobs=work.jobs, quiet=quiet) as progress:
            work.execute(progress.notify)
    except KeyboardInterrupt:
        for line in account.interrupted(work, sys.argv):
            output.say(line, to_stderr=True)
        raise
    return progress.failed


def _published(work: "Work", *, quiet: bool) -> tuple["Scope", Path]:
    """Write the run's report and print its verdicts; return these and the report's folder."""
    from harness import checkout
    from harness.cli import judgement
    from harness.cli.waiting import Waiting
    from harness.errors import HarnessError
    from harness.extract import door
    from harness.report import index, publish

    reports, store = checkout.reports(), checkout.captures()
    try:
        with Waiting(quiet=quiet) as waiting:
            waiting.work_on("reading captures, writing the worklog")
            published = publish.publish(work.problem, work.run, reports, store)
            incomplete = index.renew(reports, checkout.problems())
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


def _print_end(work: "Work", seconds: float, scope: "Scope | None", report: Path | None) -> None:
    from harness.cli import account

    ids = {cell.id for cell in work.cells}
    records = [record for _, record in work.run.records() if record.id in ids]
    where = report / "README.md" if report else work.run.folder
    device = work.engine.node.target.device
    cells = f"{account.statuses(records)} in {seconds:.0f} s"
    output.say(account.ending(cells, where, scope, device))
    if phases := account.spent(records):
        output.say(phases)
    output.say(f"run: {work.run.folder}")
    output.say("next:")
    for command, purpose in account.next_steps(work, sys.argv, report):
        output.say(f"  {command}  # {purpose}")


def _print_json(work: "Work", messages: list[str], report: Path | None) -> None:
    kept = ("id", "variant", "case", "capture", "round", "status", "reason", "wall_s")
    cells = [{key: getattr(record, key) for key in kept} for _, record in work.run.records()]
    output.as_json(
        {
            "run": str(work.run.folder),
            "engine": work.engine_name,
            "told": messages,
            "cells": cells,
            "worklog": str(report / "README.md") if report else None,
        }
    )
