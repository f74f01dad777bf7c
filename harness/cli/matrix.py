"""``harness matrix``: problems × clusters × software, in one command and one index."""

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.problem.plan import Cell
    from harness.report.matrix_page import Row
    from harness.run.cluster.matrix import Combination, MatrixRun
    from harness.store.run_folder import Run

_SOME_FAILED = 4


def matrix(
    file: Annotated[Path, typer.Argument(help="A TOML file: problems, on, software.")],
    resume: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Go on with this matrix: runs/matrix/….")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs; start none.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run problems × clusters × software, into one index.

    Exit code 4 if some cells failed.
    """
    from harness.cli import output
    from harness.report import matrix_page
    from harness.run.cluster.matrix import MatrixRun, load, understood

    combinations = understood(load(file), resume)
    if dry_run:
        for each in combinations:
            output.say(f"{each.name}: {len(each.asked.to_run)} cells")
        return
    work = MatrixRun(combinations, resume)
    lock = threading.Lock()

    def tell(each: "Combination", cell: "Cell", status: str, seconds: float) -> None:
        if status != "running" and not json:
            with lock:
                output.say(f"{each.name}: {cell.name}: {status}, {seconds:.1f} s")

    try:
        work.execute(tell, lambda line: None if json else output.say(line))
    except KeyboardInterrupt:
        output.say(f"go on with: harness matrix {file} --resume {work.folder}", to_stderr=True)
        raise
    for name, error in work.errors.items():
        output.say(f"{name}: {error}", to_stderr=True)
    rows, failed = _rows(combinations, work)
    from harness.ground import files

    files.write_text(work.folder / "README.md", matrix_page.page(rows))
    if json:
        output.as_json([dict(zip(matrix_page.HEAD, row.words, strict=True)) for row in rows])
    else:
        for row in rows:
            what = f"{row.problem} on {row.on}, {row.software}: {row.cells} cells ok"
            output.say(f"{what} · {row.verdicts} → {row.run or 'no run'}")
        output.say(f"index: {work.folder / 'README.md'}")
    if failed or work.errors:
        raise typer.Exit(_SOME_FAILED)


def _rows(combinations: list["Combination"], work: "MatrixRun") -> tuple[list["Row"], int]:
    """Return a row a combination, and how many planned cells did not run well."""
    from harness.report.matrix_page import Row
    from harness.store.run_folder import Run

    rows, failed = [], 0
    for each in combinations:
        entry, planned, well = work.entries[each.name], len(each.asked.cells), 0
        target, verdicts = "", work.errors.get(each.name, "")
        if entry.run:
            run = Run.open(Path(entry.run))
            well = Counter(record.ok for _, record in run.records())[True]
            target, verdicts = _judged(each, run)
        failed += planned - well
        of = (entry.problem, entry.on, entry.software, target)
        rows.append(Row(*of, f"{well} of {planned}", verdicts, entry.run))
    return rows, failed


def _judged(each: "Combination", run: "Run") -> tuple[str, str]:
    """Return a run's target and the count of its verdicts, or why it cannot be judged."""
    from harness.cli import judgement
    from harness.extract import door
    from harness.ground.errors import HarnessError
    from harness.report.verdicts import by_verdict, tally

    try:
        evidence = door.run(run, run.folder / "evidence")
        _, scope = judgement.judge(each.asked.problem, evidence)
    except HarnessError as error:
        return "", str(error)
    return evidence.origin.run.target.name, tally(by_verdict(scope.judged))
