"""Causes that one fix removes, told as one finding: those of the thread that launches.

A thread that launches kernel by kernel runs code between the launches, spends time in them and may
wait for results. Which of the three a gap counts to is a matter of microseconds, and whoever
replays the step as a CUDA graph, or compiles it, removes them together.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.diagnose.finding import Evidence, Finding
from harness.analysis.diagnose.timeline import host_bound, host_sync, launch_bound

_KINDS = {module.KIND.id: module.KIND for module in (host_bound, launch_bound, host_sync)}
_TITLE = "The GPU waits for the thread that launches its work, for several causes."
_FIX = host_bound.REPLAY + ", which removes them together"


def together(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of one view, those of the launching thread as one if there are several.

    It has the id of the part with most at stake, the shares' sum and the gains' sum, as no two
    findings explain the same time; its ``parts`` are the findings themselves.
    """
    parts = [each for each in findings if each.id in _KINDS]
    if len(parts) < 2:
        return list(findings)
    parts.sort(key=lambda each: (-each.stake, each.id))
    others = [each for each in findings if each not in parts]
    return [_joint(parts), *others]


def _joint(parts: Sequence[Finding]) -> Finding:
    most = parts[0]
    source = most.evidence[0].source
    told = (
        Evidence(f"of it {each.id}", (each.share or 0.0) * 100, None, source, "%") for each in parts
    )
    # What removes a part that is known by name comes first, what helps any program last. Such a
    # part's second evidence is the name.
    named = [fix for each in parts for fix in each.fix if fix not in _KINDS[each.id].fix]
    known = [each for each in parts[1:] if set(each.fix) - set(_KINDS[each.id].fix)]
    names = [evidence for each in known for evidence in each.evidence[1:2]]
    usual = {each.id: _KINDS[each.id].fix[:1] for each in parts}
    waits, code = (usual.get(module.KIND.id, ()) for module in (host_sync, host_bound))
    return replace(
        most,
        share=sum(each.share or 0.0 for each in parts),
        gain=sum(each.stake for each in parts),
        evidence=tuple(dict.fromkeys((*told, *names, *most.evidence[1:], most.evidence[0]))),
        fix=(*dict.fromkeys(named), *waits, _FIX, *code),
        title=_TITLE,
        parts=tuple(parts),
    )
