"""``harness check``: judge claims, say what got worse, or hold files to their hashes."""

from collections import Counter
from dataclasses import dataclass, replace
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
    from harness.store.run_folder import Run

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

    Judges the run given, the report given, the newest run, or else each published report. Exit code
    0 if no claim is refuted, 1 if one is, 3 if none was measured or cells lack. With --against: 1
    if a metric is worse or a claim is newly refuted, 3 if nothing can be compared or cells lack.
    With --deep: 1 if a file differs from its recorded hash, is missing, or is listed nowhere.
    """
    from harness.cli import output
    from harness.cli.resolve import run_or_report, run_or_reports
    from harness.ground.errors import UsageError
    from harness.report import check_results

    if deep:
        if against or junit or github or strict:
            raise UsageError("--deep judges no claims", remedy="leave out what is for claims")
        raise typer.Exit(_deep(problem, run, report, json=json))
    if against:
        study, source = run_or_report(problem, run, report)
        outcomes = [_outcome(study, source, against, strict=strict, json=json)]
    else:
        study, sources = run_or_reports(problem, run, report)
        outcomes = [_outcome(study, each, None, strict=strict, json=json) for each in sources]
    if json:
        documents = {outcome.target: outcome.document for outcome in outcomes}
        output.as_json(documents if len(outcomes) > 1 else outcomes[0].document)
    results = [result for outcome in outcomes for result in outcome.named(len(outcomes) > 1)]
    if junit:
        from harness.ground import files

        files.write_text(junit, check_results.junit(results, study.folder.name))
    for line in check_results.annotations(results, study.folder.name) if github else ():
        output.say(line, to_stderr=True)  # GitHub reads both streams, and JSON has the other
    codes = {outcome.code for outcome in outcomes}
    raise typer.Exit(_WORSE if _WORSE in codes else max(codes))


@dataclass(frozen=True)
class _Outcome:
    """What one run or report came to: its results, the exit code that it asks for, its JSON."""

    target: str
    results: list["Result"]
    code: int
    document: object

    def named(self, among_others: bool) -> list["Result"]:
        """Return the results, ``among_others`` with the target in the names of their suites."""
        if not among_others:
            return self.results
        return [replace(each, suite=f"{each.suite} on {self.target}") for each in self.results]


def _outcome(
    study: "Problem", source: "Run | Path", against: Path | None, *, strict: bool, json: bool
) -> _Outcome:
    """Judge the claims by a run or report, or compare it ``against`` another; print as text."""
    from harness.cli import output
    from harness.extract import door

    folder = source if isinstance(source, Path) else source.folder
    evidence = door.whole(folder)
    results, code, document = (
        _compared(study, evidence, against, json=json)
        if against
        else _judged(study, evidence, source, strict=strict, json=json)
    )
    if evidence.origin.unfinished:
        ran, planned = evidence.origin.unfinished
        more = f" (harness run {study.number} --resume {folder})" if folder is not source else ""
        output.say(f"unfinished: {ran} of {planned} cells were run{more}", to_stderr=True)
        code = code or _NOT_WHOLE
    return _Outcome(evidence.origin.run.target.slug, results, code, document)


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
) -> tuple[list["Result"], int, object]:
    """Judge the claims and print the verdicts; return results, exit code and JSON."""
    from harness.analysis import claims
    from harness.cli import judgement, output
    from harness.report import check_results

    results, scope = judgement.judge(study, evidence)
    if not json:
        kind = "report" if isinstance(source, Path) else "run"
        output.say(f"judged: {kind} {evidence.label}")
        judgement.show(study, scope, evidence)
    found = check_results.of_claims(study, scope.judged, strict=strict)
    code = claims.exit_code(list(scope.judged), strict=strict)
    return found, code, judgement.as_json(study, results, scope)


def _compared(
    study: "Problem", evidence: "Folder", against: Path, *, json: bool
) -> tuple[list["Result"], int, object]:
    """Print what changed since ``against``; return results, exit code and JSON."""
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
    if not json:
        output.say(f"{evidence.label} against {earlier.label}")
        _show(found, refuted)
    results = check_results.of_changes(found) + check_results.of_claims(study, refuted)
    worse = bool(refuted) or any(change.outcome == "worse" for change in found)
    code = _WORSE if worse else 0 if found else _NOT_WHOLE
    return results, code, _as_json(found, refuted)


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
