"""What makes a subject slow, concluded from its evidence: one file a finding, one line here.

A rule is a function of a subject's tables that yields a Finding for each cause that the evidence
bears out. Its file imports :class:`Finding` from here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.evidence.tables import Tables
from harness.references import resolve

RULES: tuple[str, ...] = ()
"""Every rule as "module:function", in the order in which findings are listed."""


@dataclass(frozen=True)
class Finding:
    """A cause, the evidence that it rests on, and the next thing to look at.

    ``cause`` and ``look_at`` are sentences. ``evidence`` names metrics with their values, or rows
    of tables, one a line: never empty.
    """

    cause: str
    evidence: tuple[str, ...]
    look_at: str


Rule = Callable[[Tables], Iterable[Finding]]


def diagnose(tables: Tables) -> list[Finding]:
    """Return the findings of every rule on a subject's tables, in the order of RULES."""
    rules: list[Rule] = [resolve(reference) for reference in RULES]
    return [finding for rule in rules for finding in rule(tables)]
