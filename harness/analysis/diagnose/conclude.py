"""The entry of the diagnosis: a subject's captures become one ranked list of findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.families import FAMILIES, Capture, Family
from harness.analysis.diagnose.finding import (
    ABSTAIN,
    HEALTHY,
    Diagnosis,
    Finding,
    KernelDiagnosis,
)

_BY_DEFAULT = (HEALTHY, ABSTAIN)


def diagnose(captures: Sequence[Capture]) -> Diagnosis:
    """Return what the captures of one program bear out, most important first.

    Findings of one launch count in the joint list by the launch's share of the subject's time.
    That the subject is healthy, or that the evidence decides nothing, is only said where no finding
    has 5 % of its time at stake; it comes first then.
    """
    joint: list[Finding] = []
    launches: list[KernelDiagnosis] = []
    for family in FAMILIES:
        for view in family.seen(captures):
            concluded = conclusions(family, view)
            joint += [_scaled(each, view.share) for each in concluded]
            if family.by_launch:
                launches.append(KernelDiagnosis(view.name, view.launch, tuple(concluded)))
    return Diagnosis(tuple(_ranked(joint)), tuple(launches))


def conclusions(family: Family, view: Any) -> list[Finding]:
    """Return the findings of one view, most important first."""
    found = [finding for module in family.modules() for finding in module.found(view)]
    if any(finding.stake >= thresholds.MATTERS for finding in found):
        return _ranked(found)
    verdict = list(family.module(HEALTHY).found(view)) or list(family.module(ABSTAIN).found(view))
    return _ranked([*verdict, *found])


def _ranked(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by time at stake; what is said by default comes first, or not at all."""
    causes = [each for each in findings if each.id not in _BY_DEFAULT]
    causes.sort(key=lambda each: (-each.stake, -each.confidence, each.id, each.where))
    if causes and causes[0].stake >= thresholds.MATTERS:
        return causes
    defaults = [each for each in findings if each.id in _BY_DEFAULT]
    defaults.sort(key=lambda each: (_BY_DEFAULT.index(each.id), -(each.share or 0.0)))
    return [*defaults, *causes]


def _scaled(finding: Finding, share: float) -> Finding:
    """Return a finding whose fractions are of the subject's time instead of its view's."""
    if share == 1.0:
        return finding
    part, gain = (None if each is None else each * share for each in (finding.share, finding.gain))
    return replace(finding, share=part, gain=gain)
