"""The findings of the diagnosis as pages name them: title, level, remedies, and their specimens."""

from collections.abc import Iterator
from typing import get_args

from harness.analysis.diagnose.finding import FindingKind, Level
from harness.analysis.diagnose.known_findings import kinds
from harness.analysis.measured import Measured
from harness.ground.errors import ManifestError
from harness.report.columns import DASH, NOT_MEASURED
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import measured
from harness.report.page import Page

from . import grading

_HEAD = ["level", "finding", "what is wrong", "the twin gains"]


def findings(page: Page) -> Markdown:
    """Return the table of findings with specimens, top down: page, sentence, gain of the twins."""
    rows = [
        [
            escape(kind.level),
            Markdown(f"[{kind.id}]({page.root}pages/{kind.id}.md)"),
            escape(kind.title),
            _gains(page, kind.id),
        ]
        for kind in _by_level()
        if planted(page, kind.id)
    ]
    return table(_HEAD, rows, numeric_from=len(_HEAD), whole=True)


def finding(page: Page, name: str) -> dict[str, str]:  # noqa: ARG001 - every section is given the page
    """Return level and title of a finding; ManifestError if there is none of that id."""
    kind = _kind(name)
    return {"level": kind.level, "title": kind.title}


def _kind(name: str) -> FindingKind:
    known = kinds()
    if name not in known:
        raise ManifestError(f"no finding {name!r}", remedy=f"name one of: {', '.join(known)}")
    return known[name]


def fixes(page: Page, name: str) -> Markdown:  # noqa: ARG001 - every section is given the page
    """Return the remedies of a finding as a list."""
    return Markdown("\n".join(f"- {escape(fix)}" for fix in _kind(name).fix))


def planted(page: Page, name: str) -> list[str]:
    """Return the cases in which a finding was planted."""
    return [case for case in page.problem.cases if grading.planted(page.problem, case) == name]


def _by_level() -> Iterator[FindingKind]:
    for level in get_args(Level):
        yield from (kind for kind in kinds().values() if kind.level == level)


def _gains(page: Page, name: str) -> str:
    """Return the least and the largest gain of a finding's twins."""
    advised = [case for case in planted(page, name) if grading.advised(page.problem, case)]
    gains = [gain for case in advised for gain in _gain(page, case)]
    if not gains:
        return NOT_MEASURED if advised else DASH
    ends = (min(gains, key=_value), max(gains, key=_value))
    return " to ".join(dict.fromkeys(measured(end, interval=False) for end in ends))


def _gain(page: Page, case: str) -> list[Measured]:
    metric, problem = grading.advised(page.problem, case), page.problem
    if metric is None:
        return []
    sides = ((metric, variant, case) for variant in (problem.baseline, grading.twin_of(problem)))
    ratio = page.metrics.ratio(*sides)
    return [] if ratio.value is None else [ratio]


def _value(ratio: Measured) -> float:
    return ratio.value or 0.0
