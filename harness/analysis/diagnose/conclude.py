"""The entry of the diagnosis: a subject's captures become one ranked list of findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from harness.analysis import flaws, program, recording
from harness.analysis.diagnose import (
    known_findings,
    launch_time,
    one_fix,
    thresholds,
)
from harness.analysis.diagnose.families import Family
from harness.analysis.diagnose.finding import (
    ABSTAIN,
    HEALTHY,
    OUT_OF_MEMORY,
    Diagnosis,
    Evidence,
    Finding,
    FindingKind,
    KernelDiagnosis,
)
from harness.analysis.diagnose.peaks import peak
from harness.analysis.diagnose.timeline import healthy
from harness.analysis.hint import for_nvidia, for_torch, said
from harness.analysis.program import Program
from harness.analysis.recording import Flaw
from harness.evidence.capture import Capture

View = TypeVar("View")

_NOTHING = FindingKind(ABSTAIN, "timeline", "The captures hold no work on a GPU.")
_RECORD = (
    "capture the program on a GPU, "
    + for_nvidia("with nsys", otherwise="with rocprofv3 --sys-trace")
    + for_torch(for_nvidia(", ", otherwise=" or ") + "torch.profiler (ProfilerActivity.CUDA)")
    + for_nvidia(" or ncu")
)
_WORKING = "record while the workload runs on the GPU"
_UNTRUSTED = FindingKind(ABSTAIN, "timeline", "Nothing is concluded from the timeline")
_MOST_DAMAGED = 100 * thresholds.MATTERS
_BY_DEFAULT = (HEALTHY, ABSTAIN)


def diagnose(captures: Sequence[Capture]) -> Diagnosis:
    """Return the findings that the captures of one program bear out, most important first.

    Findings of one launch count in the joint list by the launch's share of the subject's time, and
    those of one cause and kernel are one.
    That the subject is healthy, or that the evidence decides nothing, is only said where no finding
    has 5 % of its time at stake; it comes first then. Where a flaw damages that much of a timeline,
    nothing is concluded from it.
    """
    of = program.of_captures(captures)
    found = tuple(
        replace(each, instead=said(each.instead, of)) for each in flaws.flaws_of(captures)
    )
    timelines = known_findings.TIMELINE.seen(captures)
    broken = next((flaw for flaw in found if flaw.breaks), None)
    where = next((view.where for view in timelines), "the captures")
    if broken:
        timelines = ()
    profiled = known_findings.KERNEL.seen(captures)
    snapshots = known_findings.MEMORY.seen(captures)
    launches = tuple(
        KernelDiagnosis(view.name, view.launch, tuple(conclusions(known_findings.KERNEL, view)))
        for view in profiled
    )
    in_program = [
        _scaled(each, share)
        for launch, share in zip(launches, launch_time.shares(timelines, profiled), strict=True)
        for each in launch.findings
    ]
    joint = [
        *_of_all(known_findings.SERVING, known_findings.SERVING.seen(captures)),
        *_of_all(known_findings.TIMELINE, timelines),
        *_by_kernel(in_program),
        *_of_all(known_findings.MEMORY, snapshots),
    ]
    peaks = tuple(filter(None, map(peak, snapshots)))
    notes: tuple[str, ...] = ()
    busy = next((view.busy for view in timelines), None)
    if broken:
        findings = [_untrusted(broken, where), *_ranked(joint)]
    else:
        findings = _ranked(joint or [_nothing(captures)])
    if not any(each.id == HEALTHY and each.level == _NOTHING.level for each in findings):
        notes = tuple(said(text, of) for view in timelines for text in healthy.notes(view))
    launches = tuple(replace(each, findings=told(each.findings, of)) for each in launches)
    recorded = recording.of(captures, found, busy)
    return Diagnosis(told(findings, of), launches, busy, recorded, peaks, notes)


def told(findings: Sequence[Finding], of: Program) -> tuple[Finding, ...]:
    """Return findings whose words a program can follow."""
    return tuple(
        replace(
            each,
            title=said(each.title, of),
            evidence=tuple(replace(one, metric=said(one.metric, of)) for one in each.evidence),
            fix=tuple(filter(None, (said(text, of) for text in each.fix))),
            next=tuple(filter(None, (said(text, of) for text in each.next))),
            parts=told(each.parts, of),
        )
        for each in findings
    )


def _of_all(family: Family[View], views: Sequence[View]) -> list[Finding]:
    return [finding for view in views for finding in conclusions(family, view)]


def _untrusted(flaw: Flaw, where: str) -> Finding:
    """Return the finding that nothing rests on a timeline, with its worst flaw as the reason."""
    damaged = 100 * (flaw.part or 0.0)
    evidence = Evidence("damaged part of the capture", damaged, _MOST_DAMAGED, where, "%")
    advice = (flaw.instead,)
    finding = _UNTRUSTED.finding(where, (evidence,), confidence=0.0, capture_next=advice)
    return replace(finding, title=f"{_UNTRUSTED.title}: {flaw.what}.")


def _nothing(captures: Sequence[Capture]) -> Finding:
    """Return the finding that no work ran on a GPU, and how many host calls there are."""
    calls = sum(each.tables["api_calls"].height for each in captures if "api_calls" in each.tables)
    where = f"the captures: none of {calls:,} host calls launched any" if calls else "the captures"
    advice = _WORKING if calls else _RECORD
    return _NOTHING.finding(where, (), confidence=0.0, capture_next=(advice,))


def conclusions(family: Family[View], view: View) -> list[Finding]:
    """Return the findings of one view, most important first.

    A cause of less than MATTERS is listed only where nothing else can be said: where the view is
    neither healthy nor undecided.
    """
    every = [finding for module in family.findings for finding in module.found(view)]
    large = [each for each in every if each.stake >= thresholds.MATTERS or each.is_bound]
    causes = one_fix.together(large)
    undecided = list(family.abstain.found(view))
    if any(each.stake >= thresholds.MATTERS for each in causes):
        return _ranked([*undecided, *causes])
    said = _ranked([*(list(family.healthy.found(view)) or undecided), *causes])
    return said or _ranked([each for each in every if each.stake >= thresholds.SEEN])[:1]


def _ranked(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by time at stake.

    A cause whose gain is known precedes one whose gain is not. Where a cause matters, the subject
    is not healthy. That more time is unexplained than it explains is said behind all causes of a
    timeline; of a kernel, whose missing counters may hide a larger cause, it is said first.
    """
    causes = [each for each in findings if each.id not in _BY_DEFAULT]
    causes.sort(key=_order)
    if causes and causes[0].stake >= thresholds.MATTERS:
        most = max(causes[0].stake, causes[0].share or 0.0)
        doubts = [each for each in findings if each.id == ABSTAIN and each.stake > most]
        late = [each for each in doubts if each.level == _NOTHING.level]
        return [*(each for each in doubts if each not in late), *causes, *late]
    defaults = [each for each in findings if each.id in _BY_DEFAULT]
    defaults.sort(key=lambda each: (_BY_DEFAULT.index(each.id), -each.stake))
    return [*_merged(defaults), *causes]


def _merged(defaults: Sequence[Finding]) -> list[Finding]:
    """Return the default findings, one for all launches whose finding is the same."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for each in defaults:
        alike.setdefault((each.id, each.title), []).append(each)
    return [
        replace(first, where=f"{len(others) + 1} launches", kernel=None) if others else first
        for first, *others in alike.values()
    ]


def _order(finding: Finding) -> tuple[bool, bool, float, float, str, str]:
    ended = finding.id == OUT_OF_MEMORY
    matters = finding.gain is not None and finding.gain >= thresholds.MATTERS
    return not ended, not matters, -finding.stake, -finding.confidence, finding.id, finding.where


def _by_kernel(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding a cause and kernel, with the sums of its launches' time."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        alike.setdefault((each.id, each.kernel or each.where), []).append(each)
    return [_summed(group) for group in alike.values()]


def _summed(group: Sequence[Finding]) -> Finding:
    """Return the finding that has most at stake, with the time of all; null where one is null."""
    most = max(group, key=lambda each: each.stake)
    if len(group) == 1:
        return most
    shares, gains = [each.share for each in group], [each.gain for each in group]
    share, gain = (None if None in parts else sum(filter(None, parts)) for parts in (shares, gains))
    return replace(most, where=f"{len(group)} launches", share=share, gain=gain)


def _scaled(finding: Finding, share: float) -> Finding:
    """Return a finding whose fractions are of the subject's time instead of its view's."""
    if share == 1.0:
        return finding
    part, gain = (None if each is None else each * share for each in (finding.share, finding.gain))
    return replace(finding, share=part, gain=gain)
