"""Tests of a cause by running a command under interventions: what came of them, printed."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.analysis import sensitivity, statistics
from harness.analysis.sensitivity import INTERVENTIONS, PREDICTIONS, Effect, Outcome, Verdict
from harness.analysis.statistics import Interval
from harness.cli import output
from harness.ground.errors import UsageError
from harness.problem.names import nearest
from harness.run import intervene
from harness.run.intervene import Request, Runs

ALL = "all"
_NOT_BORNE_OUT, _UNDECIDED = 1, 3


@dataclass(frozen=True)
class Intervened:
    """What an intervention did: the time under it over the usual one, and the sensitivity.

    ``low`` and ``high`` of each are the ends of its 99 % interval. All are None where it was not
    measured, and ``why`` says why.
    """

    id: str
    does: str
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    sensitivity: float | None
    low: float | None
    high: float | None
    why: str


@dataclass(frozen=True)
class Predicted:
    """A prediction of a cause, why it makes it, and what came of it."""

    effect: Effect
    interventions: list[str]
    why: str
    outcome: Outcome


@dataclass(frozen=True)
class TestedCause:
    """A cause: whether its decided predictions all came true, None where none was decided."""

    cause: str
    borne_out: bool | None
    predictions: list[Predicted]


@dataclass(frozen=True)
class TestedCommand:
    """A command under test; ``usual``: its seconds or what ``metric`` finds, ``repeats`` times."""

    command: list[str]
    metric: str | None
    repeats: int
    usual: float
    low: float
    high: float
    interventions: list[Intervened]
    causes: list[TestedCause]


def request(
    argv: list[str], metric: str | None, *, is_rate: bool, batch: int | None, repeats: int
) -> Request:
    """Return the request of a command line; UsageError where it cannot be done."""
    if is_rate and metric is None:
        raise UsageError("--rate says what --metric finds", remedy="add --metric REGEX")
    if batch is not None and not any(intervene.BATCH in word for word in argv):
        raise UsageError(f"no word of the command has {intervene.BATCH}", where="--batch")
    if batch is None and any(intervene.BATCH in word for word in argv):
        raise UsageError(f"the command has {intervene.BATCH}", remedy="add --batch N")
    try:
        pattern = None if metric is None else re.compile(metric)
    except re.error as error:
        raise UsageError(f"no regular expression: {error}", where="--metric") from error
    return Request(tuple(argv), pattern, is_rate, batch, repeats)


def run(cause: str, asked: Request, *, json: bool) -> int:
    """Test a cause, or all of them, by a command; print what came of it, return the exit code."""
    if cause != ALL and cause not in PREDICTIONS:
        remedy = nearest(cause, [*PREDICTIONS, ALL])
        raise UsageError(f"no test tells whether a program is {cause!r}", remedy=remedy)
    if cause in sensitivity.BYTES and asked.metric is None:
        what = f"{cause} costs memory, not time"
        raise UsageError(
            what, remedy="--metric REGEX of the reserved bytes that the program prints"
        )
    names = list(INTERVENTIONS)
    if cause != ALL:
        used = {each for test in PREDICTIONS[cause] for each in test.interventions}
        names = [each for each in names if each in used]
        if asked.batch is None and names != ["double-batch"]:
            names = [each for each in names if each != "double-batch"]
    with tempfile.TemporaryDirectory(prefix="worklogs-") as folder:
        runs = intervene.measured(asked, names, Path(folder), _told)
    ratios = {name: statistics.ratio(*runs.sides(name)) for name in runs.changed}
    found = {name: INTERVENTIONS[name].sensitivity(ratio) for name, ratio in ratios.items()}
    causes = [cause] if cause != ALL else sensitivity.of_time()
    verdicts = [sensitivity.judged(each, found) for each in causes]
    document = _document(asked, runs, names, ratios, found, verdicts)
    if json:
        output.as_json(document)
    else:
        _show(document, verdicts, among_all=cause == ALL)
    if cause == ALL:
        return 0
    return {True: 0, False: _NOT_BORNE_OUT, None: _UNDECIDED}[verdicts[0].is_borne_out]


def _told(line: str) -> None:
    output.say(line, to_stderr=True)


def _document(
    asked: Request,
    runs: Runs,
    names: list[str],
    ratios: dict[str, Interval],
    found: dict[str, Interval],
    verdicts: list[Verdict],
) -> TestedCommand:
    usual = statistics.estimate(runs.usual)
    rows = [
        _row(name, ratios.get(name), found.get(name), runs.lacking.get(name, "")) for name in names
    ]
    causes = [
        TestedCause(
            each.cause,
            each.is_borne_out,
            [
                Predicted(
                    test.prediction.effect,
                    list(test.prediction.interventions),
                    test.prediction.why,
                    test.outcome,
                )
                for test in each.tests
            ],
        )
        for each in verdicts
    ]
    metric = asked.metric.pattern if asked.metric else None
    ends = (usual.value, usual.low, usual.high)
    return TestedCommand(list(asked.argv), metric, asked.repeats, *ends, rows, causes)


def _row(name: str, ratio: Interval | None, found: Interval | None, why: str) -> Intervened:
    does = INTERVENTIONS[name].does
    if ratio is None or found is None:
        return Intervened(name, does, *(None,) * 6, why)
    ends = (ratio.value, ratio.low, ratio.high, found.value, found.low, found.high)
    return Intervened(name, does, *ends, why)


def _show(document: TestedCommand, verdicts: list[Verdict], *, among_all: bool) -> None:
    """Print the usual runs, what each intervention did, and the verdicts.

    ``among_all``: of those causes alone that are borne out.
    """
    output.say(" ".join(document.command))
    what = "s per run" if document.metric is None else f"(the last {document.metric!r})"
    ends = f"{document.low:.4g} to {document.high:.4g}"
    output.say(f"usual: {document.usual:.4g} {what}, 99 % interval {ends}")
    output.table(("intervention", "what it does", "time", "sensitivity"), _cells(document))
    for each in document.interventions:
        if each.why:
            output.prose(f"not measured: {each.id}: {each.why}", "  ")
    shown = [each for each in verdicts if not among_all or each.is_borne_out]
    for verdict in shown:
        output.say(_sentence(verdict))
        for test in verdict.tests:
            names = " or ".join(test.prediction.interventions)
            line = f"  {names}: {test.prediction.effect}, as {test.prediction.why}: {test.outcome}"
            output.prose(line, "    ")
    if not shown:
        output.say("no cause is borne out")
    if document.metric is None:
        output.prose(
            "The times are those of the whole process, its start-up included; --metric REGEX takes"
            " a number that the program prints."
        )


def _cells(document: TestedCommand) -> list[tuple[str, str, str, str]]:
    return [
        (
            each.id,
            each.does,
            _interval(each.ratio, each.ratio_low, each.ratio_high, 1, "×"),
            _interval(each.sensitivity, each.low, each.high, 100, " %"),
        )
        for each in document.interventions
    ]


def _interval(
    value: float | None, low: float | None, high: float | None, scale: int, unit: str
) -> str:
    if value is None or low is None or high is None:
        return "–"
    digits = 0 if scale > 1 else 2
    shown = [f"{scale * each:.{digits}f}" for each in (value, low, high)]
    return f"{shown[0]}{unit} [{shown[1]}, {shown[2]}]"


def _sentence(verdict: Verdict) -> str:
    of = f"{verdict.agreeing} of {verdict.decided} decided tests agree"
    if verdict.is_borne_out is None:
        return f"{verdict.cause}: undecided"
    return f"{verdict.cause}: {'borne out' if verdict.is_borne_out else 'not borne out'}: {of}"
