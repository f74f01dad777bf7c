"""Findings as text for a terminal: the sentence, what it costs, its numbers, fix and next step."""

import textwrap
from collections.abc import Iterator

from harness.analysis.diagnose.finding import Diagnosis, Evidence, Finding
from harness.report.columns import NOT_MEASURED
from harness.report.escape import printable
from harness.report.numbers import number

_WIDTH = 80
_EVIDENCE_SHOWN = 3


def lines(diagnosis: Diagnosis, most: int | None = None) -> Iterator[str]:
    """Yield the lines that print the ``most`` important findings, by default all of them.

    Each line is at most 80 columns wide unless a single word is longer.
    """
    shown = diagnosis.findings[:most]
    for place, finding in enumerate(shown, start=1):
        yield from _finding(finding, place)
        yield ""
    rest = len(diagnosis.findings) - len(shown)
    if rest:
        yield f"{rest} more: harness diagnose"
    if not diagnosis.findings:
        yield "No capture that findings are read from."


def _finding(finding: Finding, place: int) -> Iterator[str]:
    head = f"{place}. "
    indent = " " * len(head)
    yield from _wrapped(f"{finding.title} [{finding.id}]", head, indent)
    place_in = finding.where if finding.kernel in (None, finding.where) else finding.kernel or ""
    yield from _wrapped(f"{finding.level}: {place_in}", indent)
    yield from _wrapped(_costs(finding), indent)
    for evidence in finding.evidence[:_EVIDENCE_SHOWN]:
        yield from _wrapped(_evidence(evidence), f"{indent}- ", f"{indent}  ")
    for what, texts in (("fix: ", finding.fix), ("next: ", finding.next)):
        if texts:
            yield from _wrapped("; ".join(texts), f"{indent}{what}", indent + " " * len(what))


def _costs(finding: Finding) -> str:
    share, gain = (_percent(each) for each in (finding.share, finding.gain))
    return f"explains {share} of the time, removing it gains at most {gain}"


def _percent(fraction: float | None) -> str:
    return NOT_MEASURED if fraction is None else f"{fraction:.1%}".replace("%", " %")


def _evidence(evidence: Evidence) -> str:
    unit = f" {evidence.unit}" if evidence.unit else ""
    text = f"{evidence.metric}: {number(evidence.value)}{unit}"
    if evidence.threshold is not None:
        text += f" (threshold {number(evidence.threshold)}{unit})"
    return text


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
