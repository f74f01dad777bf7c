"""``harness check``: judge claims, say what got worse, or hold files to their hashes."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.problem_argument import MaybeProblem, ReportFolder, RunFolder

if TYPE_CHECKING:
    from harness.analysis.claims import ClaimResult
    from harness.analysis.regression import Change
    from harness.evidence.subject import Folder
    from harness.problem.model import Problem
    from harness.report.check_results import Result

_WORSE, _DIFFERS, _NOT_WHOLE = 1, 1, 3


def check(
    problem: MaybeProblem = None,
    run: RunFolder = None,
    report: ReportFolder = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Say what got worse since this run or report."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML here.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Also print annotations for GitHub Actions.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let an inconclusive claim fail as well.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Judge no claim: check that every file is as recorded.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Judge a problem's claims.

    Judges the run given, the report given, the newest run, or else the published report. Exit code
    0 if no claim is refuted, 1 if one is, 3 if none was measured or cells lack. With --against: 1
    if a metric is worse or a claim is newly refuted, 3 if nothing can be compared or cells lack.
    With --deep: 1 if a file differs from its recorded hash, is missing, or is listed nowhere.
    """
    from harness.cli import output
    from harness.cli.resolve import run_or_report
    from harness.extract import door
    from harness.ground.errors import UsageError
    from harness.report import check_results
    from harness.store.run_folder import Run

    if deep:
        if against or junit or github or strict:
            raise UsageError("--deep judges no claims", remedy="leave out what is for claims")
        raise typer.Exit(_deep(problem, run, report, json=json))
    study, source = run_or_report(problem, run, report)
    evidence = door.whole(source.folder if isinstance(source, Run) else source)
    compared = _compared(study, evidence, against, json=json) if against else None
    results, code = compared or _judged(study, evidence, source, strict=strict, json=json)
    if junit:
        from harness.ground import files

        files.write_text(junit, check_results.junit(results, study.folder.name))
    for line in check_results.annotations(results, study.folder.name) if github else ():
        output.say(line, to_stderr=True)  # GitHub reads both streams, and JSON has the other
    if evidence.origin.unfinished:
        ran, planned = evidence.origin.unfinished
        further = (
            f" (harness run {study.number} --resume {source.folder})"
            if isinstance(source, Run)
            else ""
        )
        output.say(f"unfinished: {ran} of {planned} cells were run{further}", to_stderr=True)
        code = code or _NOT_WHOLE
    raise typer.Exit(code)


def _deep(problem: str | None, run: Path | None, report: Path | None, *, json: bool) -> int:
    """Hold each file to its recorded hash, and print those that differ; return the exit code."""
    from dataclasses import asdict

    from harness.cli import output
    from harness.cli.resolve import problem_of_report, recorded_folder
    from harness.ground import checkout
    from harness.report import recorded

    folder = recorded_folder(problem, run, report)
    if (folder / "run.json").is_file():
        checked = recorded.of_run(folder)
    else:
        store = checkout.captures()
        checked = recorded.of_report(folder, store, lambda: problem_of_report(problem, folder))
    count, size = len(checked.sizes), sum(checked.sizes.values())
    if json:
        faults = [asdict(fault) for fault in checked.faults]
        document = {"folder": str(folder), "files": count, "bytes": size, "faults": faults}
        output.as_json(document | {"elsewhere": checked.elsewhere})
    else:
        for fault in checked.faults:
            output.say(f"{folder / fault.file}: {fault.what}")
        found = f"{len(checked.faults)} not as recorded" if checked.faults else "all as recorded"
        output.say(f"{count} files, {size} bytes checked: {found}")
        if checked.elsewhere:
            output.say(f"not checked: captures that are not on this machine: {checked.elsewhere}")
        if checked.rendered is False:
            output.say("not checked: pages and figures, which whole evidence alone renders to")
    return _DIFFERS if checked.faults else 0


def _judged(
    study: "Problem", evidence: "Folder", source: object, *, strict: bool, json: bool
) -> tuple[list["Result"], int]:
    """Judge the claims and print the verdicts; return them as results, and the exit code."""
    from harness.analysis import claims
    from harness.cli import judgement, output
    from harness.report import check_results

    results, scope = judgement.judge(study, evidence)
    if json:
        output.as_json(judgement.as_json(study, results, scope))
    else:
        kind = "report" if isinstance(source, Path) else "run"
        output.say(f"judged: {kind} {evidence.label}")
        judgement.show(study, scope, evidence)
    found = check_results.of_claims(study, scope.judged, strict=strict)
    return found, claims.exit_code(list(scope.judged), strict=strict)


def _compared(
    study: "Problem", evidence: "Folder", against: Path, *, json: bool
) -> tuple[list["Result"], int]:
    """Print what changed since ``against``; return that as results, and the exit code."""
    from harness.analysis import regression
    from harness.analysis.metrics import Metrics
    from harness.cli import judgement, output
    from harness.evidence.subject import Folder
    from harness.extract import door
    from harness.ground.errors import UsageError
    from harness.report import check_results

    earlier = door.opened(str(against))
    if not isinstance(earlier, Folder):
        raise UsageError("neither a run nor a report", where=against)
    for what in ("problem", "target"):
        here, there = _named(evidence, what), _named(earlier, what)
        if here != there:
            remedy = "compare runs of one problem on one model of GPU"
            raise UsageError(f"its {what} is {there}, not {here}", where=against, remedy=remedy)
    sides = [
        regression.Side(
            Metrics(study, side.tables, side.origin.gpus), side.tables, side.origin.gpus
        )
        for side in (evidence, earlier)
    ]
    found = regression.changes(study, *sides)
    judged = [judgement.judge(study, side)[0] for side in (evidence, earlier)]
    refuted = regression.newly_refuted(*judged)
    if json:
        output.as_json(_as_json(found, refuted))
    else:
        output.say(f"{evidence.label} against {earlier.label}")
        _show(found, refuted)
    results = check_results.of_changes(found) + check_results.of_claims(study, refuted)
    worse = bool(refuted) or any(change.outcome == "worse" for change in found)
    return results, _WORSE if worse else 0 if found else _NOT_WHOLE


def _named(side: "Folder", what: str) -> str:
    return side.origin.run.problem if what == "problem" else side.origin.run.target.name


def _show(found: list["Change"], refuted: list["ClaimResult"]) -> None:
    """Print the metrics that are worse, those that are better, and how many were compared."""
    from harness.analysis import regression
    from harness.cli import output
    from harness.report import check_results
    from harness.report.numbers import in_cell

    for outcome in ("worse", "better"):
        rows = [
            (
                change.metric,
                f"{change.case}.{change.variant}",
                in_cell(change.then),
                in_cell(change.now),
                check_results.by_factor(change),
                change.why,
            )
            for change in found
            if change.outcome == outcome
        ]
        if rows:
            output.table((outcome, "cell", "then", "now", "now over then", "why"), rows)
    for result in refuted:
        output.say(f"newly refuted: {result.claim.id}: {result.claim.statement}")
    counted = Counter(change.outcome for change in found)
    counts = ", ".join(f"{counted[name]} {name}" for name in regression.OUTCOMES)
    output.say(f"{len(found)} metrics that both measured: {counts}")


def _as_json(found: list["Change"], refuted: list["ClaimResult"]) -> dict[str, object]:
    sides = ("value", "low", "high", "unit")
    return {
        "changes": [
            {
                "metric": change.metric,
                "variant": change.variant,
                "case": change.case,
                "outcome": change.outcome,
                "factor": change.factor,
                "low": change.low,
                "high": change.high,
                "then": {key: getattr(change.then, key) for key in sides},
                "now": {key: getattr(change.now, key) for key in sides},
                "why": change.why,
            }
            for change in found
        ],
        "newly_refuted": [result.claim.id for result in refuted],
    }
