"""The findings that bounds share: which part of the GPU limits a launch."""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain


def nearest(view: KernelView, part: str, besides: tuple[str, ...] = ()) -> bool:
    """Return whether no part but ``besides`` is nearer to its ceiling, within what is close."""
    others = view.use_of_others(part, *besides)
    return view.use(part) >= others - (thresholds.CLOSE if besides else 0.0)


def roof(
    view: KernelView, kind: Kind, part: str, besides: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Yield a bound without a fault: ``part`` is nearest to its ceiling, and near it."""
    known = view.used.get(part)
    if known is None or known.use < thresholds.AT_CEILING or not nearest(view, part, besides):
        return
    number = view.evidence(known.metric, known.percent, thresholds.AT_CEILING * 100)
    yield view.finding(kind, 0.0, number, share=min(known.use, 1.0))


def avoidable(
    view: KernelView, kind: Kind, parts: tuple[str, ...], least: float
) -> Iterator[Finding]:
    """Yield a bound whose work another part of the GPU could do, or need not be done.

    The first of ``parts`` is named; the others are busy with the same instructions. ``least``: the
    gain that is left if the work takes room elsewhere, as a fraction at most.
    """
    known = view.used.get(parts[0])
    if known is None or known.use < thresholds.SATURATED:
        return
    if known.use < view.use_of_others(*parts) - thresholds.CLOSE:
        return
    saved = min(gain.of_moving_work(view, parts), least)
    if saved < thresholds.ROOM:
        return
    number = view.evidence(known.metric, known.percent, thresholds.SATURATED * 100)
    second = view.evidence("busiest other part", view.use_of_others(*parts) * 100)
    yield view.finding(kind, saved, number, second, share=min(known.use, 1.0), confidence=0.8)
