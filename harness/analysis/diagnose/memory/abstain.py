"""Said of a snapshot whose history is missing, or does not explain what is unused or what grows."""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Evidence, Finding, FindingKind
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


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield what to record instead."""
    if not view.recorded:
        yield KIND.finding(view.source, (), confidence=0.0, capture_next=(_HISTORY,))
        return
    if view.failed.height:
        return
    evidence: tuple[Evidence, ...] = (
        view.size("in segments that the measured steps never needed", view.unused),
        view.size("allocated before the history begins", view.before),
    )
    if view.grows and view.growth is not None:
        left = "left evenly over the history, by steps or by one pass"
        evidence = (view.size(left, view.growth.total), *evidence)
    yield KIND.finding(view.source, evidence, confidence=0.0, capture_next=(_advice(view),))


def _advice(view: MemoryView) -> str:
    if view.grows:
        return leak.NEXT
    return _WHOLE if view.late else _CACHED
