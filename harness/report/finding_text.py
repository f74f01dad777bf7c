"""Findings as text for a terminal: the sentence, what it costs, its numbers, fix and next step."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.analysis.diagnose.finding import (
    ABSTAIN,
    HEALTHY,
    MEMORY,
    MULTI_GPU,
    Diagnosis,
    Evidence,
    Finding,
)
from harness.analysis.kernels import short_name
from harness.analysis.recording import Flaw
from harness.analysis.units import counted, size
from harness.ground.plain import plain
from harness.report.numbers import number

_WIDTH = 80
_EVIDENCE = 3
"""Numbers of a cause that are printed, its most important ones, beside those of its parts."""
_HELD = "\N{NO-BREAK SPACE}"
_SMALL = 0.01
"""Of the time: findings with less at stake are counted, not printed."""
_EXPLAINED = "What each [id] means: docs/findings.md"


def printed(finding: Finding) -> Sequence[Evidence]:
    """Return the numbers of a finding that people read: all where it is healthy or of many GPUs."""
    whole = finding.id == HEALTHY or finding.level == MULTI_GPU
    return finding.evidence[: None if whole else _EVIDENCE + len(finding.parts)]


def lines(diagnosis: Diagnosis, most: int | None = None) -> Iterator[str]:
    """Yield the lines that print the ``most`` important findings, by default all that matter.

    Each line is at most 80 columns wide unless a single word is longer.
    """
    shown, rest = mattering(diagnosis, most)
    for place, finding in enumerate(shown, start=1):
        yield from _finding(finding, place)
        yield ""
    for note in diagnosis.notes:
        yield from _wrapped(note, "note: ", " " * len("note: "))
        yield ""
    if rest:
        yield f"{counted(rest, 'more finding')}: harness diagnose --json"
    if any(each.id not in (HEALTHY, ABSTAIN) for each in shown):
        yield _EXPLAINED


def peaks(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines that say what the peak of each memory snapshot is made of."""
    for peak in diagnosis.memory:
        for sentence in peak.lines():
            yield from _wrapped(sentence, "", "  " if sentence.startswith("- ") else "")
        yield ""


def recorded(recording: Mapping[str, Any], width: int = _WIDTH) -> Iterator[str]:
    """Yield the lines on what the captures are, and then on each flaw of theirs.

    ``recording``: a harness.analysis.recording.Recording, as plain data.
    """
    if recording["text"]:
        # A line breaks behind a dot alone.
        held = recording["text"].replace(" ", _HELD).replace(f"·{_HELD}", "· ")
        yield from _wrapped(held, "", width=width)
    for flaw in recording["flaws"]:
        yield from _wrapped(Flaw(**flaw).text, "- ", "  ", width=width)


def mattering(diagnosis: Diagnosis, most: int | None = None) -> tuple[list[Finding], int]:
    """Return the ``most`` important findings that matter, and how many others there are."""
    shown = [each for each in diagnosis.findings if _matters(each)][:most]
    return shown, len(diagnosis.findings) - len(shown)


def _matters(finding: Finding) -> bool:
    return finding.id in (HEALTHY, ABSTAIN) or finding.stake >= _SMALL or finding.is_bound


def _finding(finding: Finding, place: int) -> Iterator[str]:
    head = f"{place}. "
    indent = " " * len(head)
    yield from _wrapped(f"{finding.title} [{finding.id}]", head, indent)
    kernel = f", {short_name(finding.kernel)}" if finding.kernel else ""
    yield from _wrapped(f"{finding.level}: {finding.where}{kernel}", indent)
    if text := costs(finding):
        yield from _wrapped(text, indent)
    for evidence in printed(finding):
        yield from _wrapped(number_of(evidence), f"{indent}- ", f"{indent}  ")
    for what, texts in (("fix: ", finding.fix), ("next: ", finding.next)):
        if texts:
            yield from _wrapped("; ".join(texts), f"{indent}{what}", indent + " " * len(what))


def costs(finding: Finding) -> str:
    """Return the share that a finding explains and its gain, or the share left unexplained.

    Of a bound, the share of the time that runs at it; empty where nothing is at stake.
    """
    share = None if finding.share is None else _percent(finding.share)
    whole = "peak of reserved bytes" if finding.level == MEMORY else "time"
    if finding.is_bound:
        return f"{share} of the {whole} is spent at this limit"
    if not finding.stake:
        return ""
    if finding.id == ABSTAIN:
        return f"{share} of the {whole} is unexplained"
    explains = f"explains {share} of the {whole}" if share else ""
    gains = "" if finding.gain is None else f"removing it gains about {_percent(finding.gain)}"
    return ", ".join(part for part in (explains, gains) if part)


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.1f} %"


def number_of(evidence: Evidence) -> str:
    """Return a number with its name, and what it was held against."""
    text = f"{evidence.metric}: {_quantity(evidence.value, evidence.unit)}"
    if evidence.threshold is not None:
        text += f" (threshold {_quantity(evidence.threshold, evidence.unit)})"
    return text


def _quantity(value: float, unit: str) -> str:
    if unit == "B":
        return size(round(value))
    return f"{number(value)} {unit}" if unit else number(value)


def _wrapped(text: str, first: str, rest: str | None = None, width: int = _WIDTH) -> list[str]:
    lines = textwrap.wrap(
        plain(text).replace(" %", f"{_HELD}%"),  # no line begins with the sign of a percentage
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HELD, " ") for line in lines]
