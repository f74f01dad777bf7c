"""The exam of the diagnosis: what it names in cells whose bottleneck was planted.

A case of such a study says in ``params.finding`` what was planted. Its two variants do the same
work: the baseline with the bottleneck, its twin without.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import ABSTAIN, HEALTHY, Finding
from harness.analysis.diagnose.known_findings import kinds
from harness.analysis.metrics import Metrics
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, Tables
from harness.problem.model import Problem
from harness.report.sections.diagnosis import concluded, profiled

from . import ncu_rules

PLANTED = "finding"
"""The parameter of a case that names what was planted."""

RIGHT, BROADER = "right", "broader"
"""What :func:`degraded` writes instead of the planted id, and of one that holds there, too."""

_HISTORY = tuple(name for name in SCHEMAS if name.startswith("memory_") and name != "memory_pools")
Reduced = Callable[[Tables], Tables]


@dataclass(frozen=True)
class Answer:
    """The diagnosis of one case.

    ``named`` are the ids of the findings on the baseline, most important first, ``of_twin`` those
    on the twin. ``predicted`` is the most that removing the planted bottleneck can gain, by the
    diagnosis, ``gained`` what the twin gained: fractions of the baseline's time, or of its memory.
    ``rules`` are the titles of Nsight Compute's rules, highest-ranked first. ``margin``: by what
    factor, less one, the planted finding's evidence lies beyond its nearest threshold; a threshold
    that is set without this case misses it only if it lies further off. What is not known is None.
    """

    case: str
    planted: str
    named: tuple[str, ...]
    of_twin: tuple[str, ...]
    predicted: float | None = None
    gained: float | None = None
    rules: tuple[str, ...] = ()
    margin: float | None = None

    @property
    def is_bound(self) -> bool:
        """Return whether the diagnosis calls the planted bottleneck a bound, and no fault."""
        return self.predicted == 0

    @property
    def rule_right(self) -> bool:
        """Return whether Nsight Compute's highest-ranked rule leads to the planted bottleneck."""
        return any(ncu_rules.names(rule, self.planted) for rule in self.rules[:1])

    @property
    def any_rule_right(self) -> bool:
        """Return whether one of the rules, wherever it ranks, leads to the planted bottleneck."""
        return any(ncu_rules.names(rule, self.planted) for rule in self.rules)

    @property
    def right(self) -> bool:
        """Return whether the planted bottleneck was named first, or as a healthy launch's bound.

        A launch at the GPU's ceiling has a bound and no fault: ``healthy`` first, then the bound.
        """
        at_ceiling = self.is_bound and self.named[:2] == (HEALTHY, self.planted)
        return self.named[:1] == (self.planted,) or at_ceiling

    @property
    def false_alarm(self) -> bool:
        """Return whether something was named first in the twin, which has no bottleneck."""
        return bool(self.of_twin) and self.of_twin[0] not in (HEALTHY, ABSTAIN)


def answers(problem: Problem, metrics: Metrics) -> list[Answer]:
    """Return the answer to each case whose baseline and twin were captured."""
    return [
        answer for case in problem.cases if (answer := _answer(problem, metrics, case)) is not None
    ]


def degraded(problem: Problem, metrics: Metrics) -> dict[str, list[str]]:
    """Return the ids named first without each piece of evidence, by piece.

    An id counts where the piece was there to be removed, and where the whole evidence named the
    planted bottleneck first. The planted id is written as RIGHT, one that is true of each such
    bottleneck and says less as BROADER.
    """
    outcomes: dict[str, list[str]] = {}
    for case in problem.cases:
        found = concluded(problem, metrics, problem.baseline, case)
        known = planted(problem, case)
        if found is None or found.findings[0].id != known:
            continue
        whole = profiled(problem, metrics, problem.baseline, case)
        for piece, named in without_pieces(whole).items():
            outcomes.setdefault(piece, []).append(outcome(named, known))
    return outcomes


def outcome(named: str, known: str) -> str:
    """Return RIGHT, BROADER, or the wrong id that is named in place of ``known``."""
    if named == known:
        return RIGHT
    return BROADER if named == kinds()[known].broader else named


def without_pieces(whole: Sequence[Capture]) -> dict[str, str]:
    """Return the id named first without each of PIECES that the captures hold, by piece."""
    named = {}
    for piece, removed in PIECES.items():
        fewer = [replace(each, tables=removed(each.tables)) for each in whole]
        if any(_differs(a.tables, b.tables) for a, b in zip(whole, fewer, strict=True)):
            named[piece] = _first(fewer)
    return named


def planted(problem: Problem, case: str) -> str | None:
    """Return the id of the bottleneck that was planted in a case, None if none was."""
    finding = problem.cases[case].params.get(PLANTED)
    return None if finding is None else str(finding)


def twin_of(problem: Problem) -> str:
    """Return the variant that does the baseline's work without the bottleneck."""
    return next(name for name in problem.variants if name != problem.baseline)


def advised(problem: Problem, case: str) -> str | None:
    """Return the metric that the advice for a case names, None without advice."""
    advice = (claim for claim in problem.advice if case in claim.at)
    return next((claim.metric for claim in advice), None)


def _answer(problem: Problem, metrics: Metrics, case: str) -> Answer | None:
    known = planted(problem, case)
    found, of_twin = (
        concluded(problem, metrics, variant, case)
        for variant in (problem.baseline, twin_of(problem))
    )
    if known is None or found is None or of_twin is None:
        return None
    sick = profiled(problem, metrics, problem.baseline, case)
    return replace(
        _of_findings(case, known, found.findings, of_twin.findings),
        gained=_gained(problem, metrics, case),
        rules=next(
            (tuple(titles) for each in sick if (titles := ncu_rules.ranked(each.tables))), ()
        ),
    )


def graded(case: str, known: str, sick: Sequence[Capture], healthy: Sequence[Capture]) -> Answer:
    """Return the findings on the captures of a case's baseline and of its twin."""
    return _of_findings(
        case, known, *(conclude.diagnose(each).findings for each in (sick, healthy))
    )


def _of_findings(
    case: str, known: str, found: tuple[Finding, ...], of_twin: tuple[Finding, ...]
) -> Answer:
    return Answer(
        case,
        known,
        tuple(finding.id for finding in found),
        tuple(finding.id for finding in of_twin),
        predicted=_predicted(found, known),
        margin=_margin(found, known),
    )


def _predicted(findings: tuple[Finding, ...], known: str) -> float | None:
    """Return the gain of the planted bottleneck: that of all places where it was found."""
    gains = [each.gain for each in findings if each.id == known and each.gain is not None]
    return min(1.0, sum(gains)) if gains else None


def _margin(findings: tuple[Finding, ...], known: str) -> float | None:
    """Return how far the first finding of what was planted is beyond its nearest threshold."""
    first = next((each for each in findings if each.id == known), None)
    if first is None:
        return None
    held = [(each.value, each.threshold) for each in first.evidence if each.threshold]
    factors = [max(value, limit) / min(value, limit) for value, limit in held if value > 0]
    return min(factors) - 1 if factors else None


def _gained(problem: Problem, metrics: Metrics, case: str) -> float | None:
    """Return the fraction that the twin saved of the metric that the case's advice names."""
    metric = advised(problem, case)
    if metric is None:
        return None
    sick, healthy = (
        metrics.get(metric, variant, case).value for variant in (problem.baseline, twin_of(problem))
    )
    return 1 - healthy / sick if sick and healthy is not None else None


def _first(whole: Sequence[Capture]) -> str:
    return conclude.diagnose(whole).findings[0].id


def _differs(whole: Tables, fewer: Tables) -> bool:
    return any(not table.equals(fewer[name]) for name, table in whole.items())


def _without_rows(*names: str) -> Reduced:
    return lambda tables: {
        **tables,
        **{name: tables[name].clear() for name in names},
    }


def _without_values(table: str, column: str) -> Reduced:
    return lambda tables: {
        **tables,
        table: tables[table].with_columns(pl.lit(None, tables[table][column].dtype).alias(column)),
    }


def _without_memory_kinds(tables: Tables) -> Tables:
    """Return tables whose copies say their direction and no memory: nsys writes it in the name."""
    direction = pl.col("name", "copy_kind").cast(pl.String).str.replace(r" \(.*", "")
    copies = pl.when(pl.col("kind") == "copy").then(direction.cast(pl.Categorical))
    return {
        **tables,
        "gpu_ops": tables["gpu_ops"].with_columns(copies.otherwise(pl.col("name", "copy_kind"))),
    }


def _without_counters(*beginnings: str) -> Reduced:
    named = pl.col("metric").cast(pl.String).str
    one = pl.any_horizontal([named.starts_with(beginning) for beginning in beginnings])
    return lambda tables: {**tables, "counters": tables["counters"].filter(~one)}


PIECES: Mapping[str, Reduced] = {
    "host calls": _without_rows("api_calls"),
    "ranges": _without_rows("ranges"),
    "what memory a copy reads": _without_memory_kinds,
    "grids on the timeline": _without_values("gpu_ops", "grid"),
    "counters of L1 and shared memory": _without_counters(
        "l1tex__", "smsp__inst_executed_op_shared"
    ),
    "counters of L2": _without_counters("lts__", "l2__"),
    "counters of DRAM": _without_counters("dram__"),
    "counters of warp stalls": _without_counters("smsp__average_warp", "smsp__pcsamp"),
    "counters of pipes": _without_counters("sm__inst_executed_pipe", "sm__pipe"),
    "counters of instructions": _without_counters("smsp__sass_", "sm__sass_", "sass__"),
    "the launch's shape in Nsight Compute": _without_counters("launch__"),
    "the allocator's history": _without_rows(*_HISTORY),
}
"""Pieces of evidence that a capture may lack, and the tables without them."""
