"""Said of a timeline that is neither healthy nor explained, with what to record instead.

Idle time whose launching calls are missing cannot be explained; operations that were queued and
waited point at what the capture does not hold; causes that appear once are no steady state. Where
kernels and communication fill BUSY of the time, the capture says enough: their findings follow.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis import copies
from harness.analysis.diagnose import idle_places, thresholds
from harness.analysis.diagnose.finding import ABSTAIN, Finding, FindingKind
from harness.analysis.diagnose.timeline import allocator_churn, stream_serialised
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_nvidia, for_torch
from harness.analysis.idle import causes as idle_causes

KIND = FindingKind(
    ABSTAIN, "timeline", "The GPU does not compute all the time, and the capture does not say why."
)
_KNOWN = (copies.PAGEABLE, copies.PINNED, copies.MANAGED)
_LEAST, _SEEN = thresholds.MATTERS * 100, thresholds.SEEN * 100
_FRAGMENT = "The capture holds too few operations on the GPU to show what the program does."
_RANKS = "capture what the launched work waited for: all streams, devices and ranks"
_EVENTS = "capture the events that the launched work waited for" + for_nvidia(
    ": nsys --cuda-event-trace=true"
)
_FAULTS = "capture page faults" + for_nvidia(
    ": nsys --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true"
)
_STEADY = "capture several steps after the warm-up, each in a range of its own"


def _reserving(view: TimelineView) -> float:
    """Return the idle time in calls that reserve memory, again and again, where hardly any frees.

    So a program grows to its working size; it is no churn and no steady state either.
    """
    if not view.repeats(idle_causes.ALLOCATE) or any(allocator_churn.found(view)):
        return 0.0
    return view.idle(idle_causes.ALLOCATE)


def _queued(view: TimelineView) -> float:
    """Return the idle time in which work was queued, and it was no other device's turn."""
    turns = view.fraction(view.ranks.bubbles.idle_ns) if view.ranks.bubbles else 0.0
    return max(view.idle(idle_causes.QUEUED) - turns, 0.0)


def _communicates(view: TimelineView) -> bool:
    """Return whether kernels and communication fill the time, and communication matters."""
    alone = view.communication
    return alone >= thresholds.MATTERS and view.compute + alone >= thresholds.BUSY


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time that no finding can explain, and the captures that would explain it."""
    if _communicates(view):
        return
    rows = view.large_copies((copies.UNKNOWN,))
    unknown = view.fraction(sum(track.alone_ns(part, besides=_KNOWN) for track, part in rows))
    doubts = [
        (
            view.percent("idle, launching call not recorded", view.idle(idle_causes.UNKNOWN)),
            "capture host calls, too: "
            + for_nvidia("nsys --trace=cuda,nvtx", otherwise="rocprofv3 --sys-trace")
            + for_torch(", or ProfilerActivity.CPU"),
        ),
        (
            view.percent("idle, launched work waited", _queued(view)),
            _EVENTS if view.all_ranks else _RANKS,
        ),
        (
            view.percent("copies of unknown host memory alone", unknown),
            "capture the memory kinds of copies: export all columns, of a current profiler",
        ),
        (
            view.percent("idle until pages of managed memory moved", view.idle(idle_causes.PAGES)),
            _FAULTS,
        ),
        (
            view.percent("streams in turn, grids not recorded", stream_serialised.undecided(view)),
            "capture the kernels' grids: "
            + for_nvidia("nsys --trace=cuda", otherwise="rocprofv3 --sys-trace")
            + for_torch(", or torch.profiler"),
        ),
        (view.percent("idle for causes that happen once", view.once), _STEADY),
        (view.percent("idle while memory is reserved and kept", _reserving(view)), _STEADY),
    ]
    doubts.sort(key=lambda doubt: -doubt[0].value)
    few = view.operations < thresholds.LEAST_OPERATIONS * view.unmarked
    number = view.number("operations on the GPU", view.operations, "", thresholds.LEAST_OPERATIONS)
    large = dict.fromkeys(advice for each, advice in doubts if each.value >= _LEAST)
    unexplained = sum(each.value for each, _ in doubts)
    finding = KIND.finding(
        view.where,
        (
            *((number,) if few else ()),
            *(idle_places.longest(view, view.once_only) if view.once >= thresholds.MATTERS else ()),
            view.percent("time in which kernels run", view.compute, thresholds.BUSY),
            *(each for each, _ in doubts if each.value >= _SEEN),
        ),
        share=unexplained / 100 if unexplained >= _SEEN else None,
        confidence=0.0,
        capture_next=tuple(large) or (_STEADY,),
    )
    yield replace(finding, title=_FRAGMENT) if few else finding
