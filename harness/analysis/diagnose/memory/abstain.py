"""Said of a snapshot whose history is missing, begins late, or does not explain what is unused."""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Finding, FindingKind
from harness.analysis.diagnose.memory import leak
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(ABSTAIN, "memory", "The snapshot does not say what its memory is reserved for.")
_HISTORY = (
    "capture the history with addresses: torch.cuda.memory._record_memory_history() before the"
    " first tensor is made"
)
_WHOLE = (
    "capture the history from before the model is made, with max_entries above the number of events"
)
_CACHED = "capture again after torch.cuda.empty_cache() at the end of the warm-up"
_SMALLER = "capture whole steps of a smaller case, which the memory of the device suffices for"


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield what to record instead."""
    if not view.recorded:
        yield KIND.finding(view.source, (), confidence=0.0, capture_next=(_HISTORY,))
        return
    left = view.growth.total if view.growth is not None else 0
    evidence = (
        view.size("left evenly over the history, by steps or by one pass", left),
        view.size("allocated before the history begins", view.before),
        view.number("allocations for which no memory was left", view.failed),
        view.size("in segments that the measured steps never needed", view.unused),
    )
    yield KIND.finding(
        view.source,
        evidence,
        confidence=0.0,
        capture_next=(_advice(view),),
    )


def _advice(view: MemoryView) -> str:
    if not view.complete:
        return _WHOLE
    if view.grows:
        return leak.NEXT
    return _SMALLER if view.failed else _CACHED
