"""The findings that bounds share: which part of the GPU limits a launch."""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, resources


def nearest(view: KernelView, part: str, besides: tuple[str, ...] = ()) -> bool:
    """Return whether no part but ``besides`` is nearer to its ceiling, within what is close."""
    others = view.use_of_others(part, *besides)
    return view.use(part) >= others - (thresholds.CLOSE if besides else 0.0)


def roof(
    view: KernelView, kind: FindingKind, part: str, besides: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Yield a bound without a fault: ``part`` is nearest to its ceiling, and near it."""
    busiest = view.used.get(part)
    if busiest is None or busiest.use < thresholds.AT_CEILING or not nearest(view, part, besides):
        return
    number = _percent(view, busiest, thresholds.AT_CEILING)
    yield view.finding(kind, 0.0, number, share=min(busiest.use, 1.0))


def either(
    view: KernelView, kind: FindingKind, parts: tuple[str, ...], least: float
) -> Iterator[Finding]:
    """Yield a bound as ``avoidable`` does, or as a roof where other parts leave no room."""
    findings = [*avoidable(view, kind, parts, least)]
    yield from findings or roof(view, kind, parts[0], parts[1:])


def avoidable(
    view: KernelView, kind: FindingKind, parts: tuple[str, ...], least: float, issued: float = 0.0
) -> Iterator[Finding]:
    """Yield a bound whose work another part of the GPU could do, or need not be done.

    The first of ``parts`` is named; the others are busy with the same instructions. ``least``: the
    gain that is left if the work takes room elsewhere, as a fraction at most. ``issued``: the part
    of all instructions that goes with the work, and leaves the issue slots. Said only where the use
    of every pipe is known: an unknown one could be as near to its ceiling.
    """
    busiest = view.used.get(parts[0])
    if busiest is None or busiest.use < thresholds.SATURATED:
        return
    if not view.used.keys() >= {*resources.COMPUTE, resources.DRAM, resources.L2}:
        return
    if busiest.use < view.use_of_others(*parts) - thresholds.CLOSE:
        return
    if min(gain.of_moving_work(view, parts), least) < thresholds.ROOM:
        return
    saved = min(gain.of_moving_work(view, parts, issued), least)
    number = _percent(view, busiest, thresholds.SATURATED)
    second = view.evidence("busiest other part", view.use_of_others(*parts) * 100)
    yield view.finding(kind, saved, number, second, share=min(busiest.use, 1.0), confidence=0.8)


def _percent(view: KernelView, part: resources.Resource, least: float) -> Evidence:
    """Return a part's use as its metric counts it; ``least`` is a fraction of the ceiling."""
    return view.evidence(part.metric, part.percent, least * part.percent / part.use)
