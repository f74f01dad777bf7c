"""``harness check``: judge claims, say what got worse, or hold files to their hashes."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, output
from harness.cli.problem_argument import MaybeProblem, ReportFolder, RunFolder
from harness.cli.results import Github, Junit, pass_on
from harness.ground.errors import UsageError

if TYPE_CHECKING:
    from harness.analysis.claims import ClaimResult
    from harness.analysis.measured import Measured
    from harness.analysis.regression import Change
    from harness.evidence.subject import Folder
    from harness.problem.model import Problem
    from harness.report.check_results import Result
    from harness.store.run_folder import Run

_WORSE, _DIFFERS, _NOT_WHOLE = 1, 1, 3


@dataclass(frozen=True)
class Side:
    """A value with its interval."""

    value: float | None
    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True)
class Changed:
    """A metric that both runs measured; ``factor`` is now over then, with its interval."""

    metric: str
    variant: str
    case: str
    outcome: str
    factor: float | None
    low: float | None
    high: float | None
    then: Side
    now: Side
    why: str


@dataclass(frozen=True)
class Compared:
    """What changed since ``--against``, and the claims that are newly refuted."""

    changes: list[Changed]
    newly_refuted: list[str]


@dataclass(frozen=True)
class FileFault:
    """A file that is not as it was recorded, by its path in the folder, and what is wrong."""

    file: str
    what: str


@dataclass(frozen=True)
class FilesChecked:
    """What ``--deep`` checked: files and their bytes, faults, captures that are not here."""

    folder: str
    files: int
    bytes: int
    faults: list[FileFault]
    elsewhere: int


Against = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Say what got worse since this run or report."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Let a tested claim fail unless it is reproduced.")
]
Deep = Annotated[
    bool, typer.Option("--deep", help="Judge no claim: check that every file is as recorded.")
]
Claim = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="Show what this claim rests on.", autocompletion=completion.claims
    ),
]


def check(
    problem: MaybeProblem = None,
    run: RunFolder = None,
    report: ReportFolder = None,
    against: Against = None,
    junit: Junit = None,
    github: Github = False,
    strict: Strict = False,
    deep: Deep = False,
    claim: Claim = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Judge a problem's claims.

    Judges the run given, the report given, the newest run, or else each published report. Exit code
    0 if no claim is refuted, 1 if one is, 3 if none was measured or cells lack. With --against: 1
    if a metric is worse or a claim is newly refuted, 3 if nothing can be compared or cells lack.
    With --deep: 1 if a file differs from its recorded hash, is missing, or is listed nowhere. With
    --claim: the metrics that decide it, and of each the cells, samples, captures and sha256; exit
    code 0 whatever its verdict.
    """
    from harness.cli.resolve import run_or_report, run_or_reports
    from harness.extract import door
    from harness.store.run_folder import Run

    if (deep or claim is not None) and (against or junit or github or strict):
        what = "--deep judges no claims" if deep else "--claim shows one claim"
        raise UsageError(what, remedy="leave out --against, --junit, --github and --strict")
    if deep and claim is not None:
        raise UsageError("--deep judges no claims", remedy="leave out --claim")
    if deep:
        raise typer.Exit(_deep(problem, run, report, json=json))
    if claim is not None:
        from harness.cli import explained

        study, source = run_or_report(problem, run, report)
        evidence = door.whole(source.folder if isinstance(source, Run) else source)
        explained.show(study, evidence, source, claim, json=json)
        return
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
    pass_on(results, study.folder.name, junit, github=github)
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
        more = f"harness run {study.number} --resume {folder}"
        output.say(f"unfinished: {ran} of {planned} cells were run ({more})", to_stderr=True)
        code = code or _NOT_WHOLE
    return _Outcome(evidence.origin.run.target.slug, results, code, document)


def _deep(problem: str | None, run: Path | None, report: Path | None, *, json: bool) -> int:
    """Hold each file to its recorded hash, and print those that differ; return the exit code."""
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
        faults = [FileFault(fault.file, fault.what) for fault in checked.faults]
        output.as_json(FilesChecked(str(folder), count, size, faults, checked.elsewhere))
    else:
        for fault in checked.faults:
            output.say(f"{folder / fault.file}: {fault.what}")
        outcome = f"{len(checked.faults)} not as recorded" if checked.faults else "all as recorded"
        output.say(f"{count} files, {size} bytes checked: {outcome}")
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
    from harness.cli import judgement
    from harness.report import check_results

    results, scope = judgement.judge(study, evidence)
    if not json:
        kind = "report" if isinstance(source, Path) else "run"
        output.say(f"judged: {kind} {evidence.label}")
        judgement.show(study, scope, evidence)
    outcomes = check_results.of_claims(study, scope.judged, strict=strict)
    code = claims.exit_code(list(scope.judged), strict=strict)
    return outcomes, code, [judgement.judged(study, result, scope) for result in results]


def _compared(
    study: "Problem", evidence: "Folder", against: Path, *, json: bool
) -> tuple[list["Result"], int, object]:
    """Print what changed since ``against``; return results, exit code and JSON."""
    from harness.analysis import regression
    from harness.evidence.subject import Folder
    from harness.extract import door
    from harness.report import check_results

    earlier = door.opened(str(against))
    if not isinstance(earlier, Folder):
        raise UsageError("neither a run nor a report", where=against)
    since = regression.since(study, evidence, earlier)
    refuted = [result for result, _ in since.refuted]
    if not json:
        output.say(f"{evidence.label} against {earlier.label}")
        _show(since.changes, refuted)
    results = check_results.of_changes(since.changes) + check_results.of_claims(study, refuted)
    code = _WORSE if refuted or since.worse else 0 if since.changes else _NOT_WHOLE
    changes = [_changed(change) for change in since.changes]
    return results, code, Compared(changes, [result.claim.id for result in refuted])


def _show(changes: list["Change"], refuted: list["ClaimResult"]) -> None:
    """Print the metrics that are worse, those that are better, and how many were compared."""
    from harness.analysis import regression
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
            for change in changes
            if change.outcome == outcome
        ]
        if rows:
            output.table((outcome, "cell", "then", "now", "now over then", "why"), rows)
    for result in refuted:
        output.say(f"newly refuted: {result.claim.id}: {result.claim.statement}")
    counted = Counter(change.outcome for change in changes)
    counts = ", ".join(f"{counted[name]} {name}" for name in regression.OUTCOMES)
    output.say(f"{len(changes)} metrics that both measured: {counts}")


def _changed(change: "Change") -> Changed:
    return Changed(
        metric=change.metric,
        variant=change.variant,
        case=change.case,
        outcome=change.outcome,
        factor=change.factor,
        low=change.low,
        high=change.high,
        then=_side(change.then),
        now=_side(change.now),
        why=change.why,
    )


def _side(measured: "Measured") -> Side:
    return Side(measured.value, measured.low, measured.high, measured.unit)
