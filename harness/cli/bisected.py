"""``harness run --bisect``: between which two of several variants a metric changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.analysis import bisection
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.cli import judgement, output
from harness.extract import door
from harness.ground.errors import UsageError
from harness.problem.model import Problem
from harness.problem.plan import check_known
from harness.report.numbers import measured
from harness.run.session import Here, Request, asked, session


@dataclass(frozen=True)
class Bisected:
    """Where a metric changes: ``after`` over ``before``; ``is_told``: its interval is clear of 1.

    ``measured`` are the variants that were run, ``without`` those whose cells failed.
    """

    run: str
    metric: str
    case: str
    before: str
    after: str
    ratio: float
    low: float
    high: float
    is_told: bool
    measured: list[str]
    without: list[str]


Execute = Callable[[Here], Path]
"""Runs a session's cells and returns the run's folder."""


@dataclass
class _Variants:
    """Variants of one case that are run as they are asked for, in one run folder."""

    request: Request
    problem: Problem
    metric: str
    case: str
    execute: Execute
    run: Path | None = None
    metrics: Metrics | None = field(default=None, repr=False)

    def measure(self, names: Sequence[str]) -> None:
        """Run the cells of some variants; those of one comparison are interleaved."""
        capture = self.problem.metric(self.metric).capture
        chosen = replace(
            self.request.selected, variants=tuple(names), cases=(self.case,), captures=(capture,)
        )
        self.run = self.execute(session(replace(self.request, selected=chosen, resume=self.run)))
        self.metrics = judgement.metrics(self.problem, door.whole(self.run))

    def ratio(self, of: str, over: str) -> Measured:
        """Return the metric of a variant over another's."""
        assert self.metrics is not None  # noqa: S101 - measured first
        return self.metrics.ratio((self.metric, of, self.case), (self.metric, over, self.case))


def bisect(request: Request, metric: str, execute: Execute, *, json: bool) -> None:
    """Run variants, in the manifest's order, until the change of a metric lies between two.

    UsageError unless the request names one case, and variants that measure the metric in it.
    """
    problem, _ = asked(request)
    case, names = _asked(problem, request, metric)
    variants = _Variants(request, problem, metric, case, execute, request.resume)
    try:
        found = bisection.change(names, variants.measure, variants.ratio)
    except ValueError as error:
        raise UsageError(f"--bisect {metric}: {error}") from error
    if json:
        output.as_json(_told(variants, found))
    else:
        _show(variants, found, len(names))


def _asked(problem: Problem, request: Request, metric: str) -> tuple[str, list[str]]:
    """Return the case and the variants among which the change is looked for."""
    base = metric.partition("@")[0]
    if base not in problem.metrics:
        known = ", ".join(problem.metrics)
        raise UsageError(f"--bisect: no metric {metric!r} (there are: {known})")
    chosen = request.selected
    if len(chosen.cases) != 1 or chosen.cases[0] not in problem.cases:
        known = ", ".join(problem.cases)
        raise UsageError("--bisect needs one --case", remedy=f"name one of {known}")
    (case,) = chosen.cases
    capture = problem.metric(metric).capture
    check_known(problem, chosen)
    names = [
        name
        for name in problem.variants
        if name in (chosen.variants or problem.variants)
        and any(problem.covers(capture, name, case, device) for device in ("cpu", "cuda"))
    ]
    if len(names) < 2:
        what = f"--bisect {metric}: fewer than two of the variants measure it in case {case}"
        raise UsageError(
            what, remedy=f"cells of {capture}: harness run {request.problem} --dry-run"
        )
    return case, names


def _told(variants: _Variants, found: bisection.Change) -> Bisected:
    ratio = found.ratio
    return Bisected(
        run=str(variants.run),
        metric=variants.metric,
        case=variants.case,
        before=found.before,
        after=found.after,
        ratio=ratio.value or 0.0,
        low=ratio.low or 0.0,
        high=ratio.high or 0.0,
        is_told=found.is_told,
        measured=list(found.measured),
        without=list(found.without),
    )


def _show(variants: _Variants, found: bisection.Change, count: int) -> None:
    """Print each variant's value, then where it changes."""
    problem, metric = variants.problem, variants.metric
    assert variants.metrics is not None  # noqa: S101 - measured first
    first = found.measured[0]
    rows = []
    for name in found.measured:
        value = variants.metrics.get(metric, name, variants.case)
        over = "–" if name == first else measured(variants.ratio(name, first))
        rows.append((problem.variants[name].label, measured(value), over))
    output.table(("variant", problem.metric(metric).label, "over the first"), rows)
    before, after = (problem.variants[name].label for name in (found.before, found.after))
    if found.is_told:
        ratio = measured(found.ratio)
        output.say(f"it changes between {before} and {after}: {ratio}")
    else:
        output.say(f"no change is told between {before} and {after}: {measured(found.ratio)}")
    for name in found.without:
        output.say(f"passed over, as its cells failed: {problem.variants[name].label}")
    output.say(f"{len(found.measured)} of {count} variants were run; run: {variants.run}")
