"""The outcome of a check as continuous integration reads it: JUnit XML and GitHub annotations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from harness.analysis.claims import ClaimResult
from harness.analysis.diff.gate import Judged
from harness.analysis.regression import Change
from harness.problem.model import Problem
from harness.report import verdicts
from harness.report.numbers import in_cell, number

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold (XML 1.0, production 2)."""


@dataclass(frozen=True)
class Result:
    """One claim or change as a test: its suite and name, how it ended, and a line that says why."""

    suite: str
    name: str
    status: Literal["passed", "failed", "skipped"]
    message: str


def of_claims(
    problem: Problem, results: Sequence[ClaimResult], *, strict: bool = False
) -> list[Result]:
    """Return each claim as a result: failed if refuted (``strict``: or tested and not reproduced).

    Other claims that are not reproduced are skipped.
    """
    outcomes = []
    for result in results:
        failed = result.verdict == "refuted" or (strict and result.verdict in ("tie", "undecided"))
        status: Literal["failed", "passed", "skipped"] = "failed" if failed else "skipped"
        if result.verdict == "reproduced":
            status = "passed"
        bound = verdicts.limit(result.claim.bound, result.measured.unit)
        said = f"{result.verdict}: {verdicts.value(result)}, bound {bound}"
        why = verdicts.why(problem, result) or result.claim.statement
        outcomes.append(Result("claims", result.claim.id, status, f"{said}: {why}"))
    return outcomes


def of_changes(changes: Sequence[Change]) -> list[Result]:
    """Return each change as a result: failed if the metric is worse than it was."""
    return [
        Result(
            f"{change.case}.{change.variant}",
            change.metric,
            "failed" if change.outcome == "worse" else "passed",
            in_words(change),
        )
        for change in changes
    ]


def of_judged(suite: str, judged: Judged, most: float) -> Result:
    """Return a time of B over A's as a result: skipped if it is undecided whether it is too long.

    ``most``: the ratio that is allowed.
    """
    line = f"{judged.outcome}: {judged.time}"
    if factor := by_factor(judged):
        line += f": {factor} as long in B, allowed {number(most, 4)}×"
    status: Literal["failed", "passed", "skipped"] = (
        "skipped" if judged.outcome == "undecided" else judged.outcome
    )
    return Result(suite, judged.time, status, f"{line}: {judged.why}" if judged.why else line)


def in_words(change: Change) -> str:
    """Return a change in a line: "worse: 12.3 ± 0.1 ms, was 10.2 ± 0.1 ms: 1.21× [1.19, 1.22]"."""
    line = f"{change.outcome}: {in_cell(change.now)}, was {in_cell(change.then)}"
    if factor := by_factor(change):
        line += f": {factor}"
    return f"{line} ({change.why})" if change.why else line


def by_factor(change: Change | Judged) -> str:
    """Return a ratio with the ends of its interval where it has one, empty where there is none."""
    if change.factor is None:
        return ""
    if change.low is None or change.high is None or change.low == change.high:
        return f"{number(change.factor, 4)}×"
    return f"{number(change.factor, 4)}× [{number(change.low, 4)}, {number(change.high, 4)}]"


def junit(results: Sequence[Result], name: str) -> str:
    """Return results as JUnit XML, one suite named ``name``."""
    counts = {kind: sum(each.status == kind for each in results) for kind in ("failed", "skipped")}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    totals = f'tests="{len(results)}" failures="{counts["failed"]}" skipped="{counts["skipped"]}"'
    lines.append(f"<testsuites><testsuite name={_attribute(name)} {totals}>")
    for each in results:
        head = f"<testcase classname={_attribute(each.suite)} name={_attribute(each.name)}>"
        lines.append(f"{head}{_body(each)}</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def is_junit(head: bytes) -> bool:
    """Return whether a file that begins so is JUnit XML, whoever wrote it."""
    return head.startswith((b"<?xml", b"<testsuite")) and b"<testsuite" in head


def annotations(results: Sequence[Result], name: str) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each result that failed."""
    for each in results:
        if each.status == "failed":
            title = _property(f"{name}: {each.suite} {each.name}")
            yield f"::error title={title}::{_data(each.message)}"


def _body(result: Result) -> str:
    if result.status == "failed":
        return f"<failure message={_attribute(result.message)}/>"
    if result.status == "skipped":
        return f"<skipped message={_attribute(result.message)}/>"
    return f"<system-out>{escape(_NOT_XML.sub('�', result.message))}</system-out>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def _data(text: str) -> str:
    """Return a workflow command's text with what would end it encoded."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return a workflow command's property with what would end it encoded."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
