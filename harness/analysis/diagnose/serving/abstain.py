"""Said of a load that does not say what the engine's steps computed, or that is too short."""

from collections.abc import Iterator

from harness.analysis.diagnose import serving_thresholds
from harness.analysis.diagnose.finding import ABSTAIN, Evidence, Finding, FindingKind
from harness.analysis.diagnose.serving_view import ServingView

KIND = FindingKind(ABSTAIN, "serving", "The load does not say what the engine's steps computed.")
_STEPS = "let the engine's step() say its kind, requests and tokens (docs/measurement.md)"
_LONGER = "record more requests, so that 100 tokens and more come after the warm-up"


def found(view: ServingView) -> Iterator[Finding]:
    """Yield what to record instead."""
    if view.known:
        return
    least = serving_thresholds.LEAST_GAPS
    evidence = (
        Evidence("times between tokens", view.gaps.height, least, view.source),
        view.number("steps that only decode", view.plain.height),
    )
    advice = _LONGER if view.gaps.height < least else _STEPS
    yield KIND.finding("the engine", evidence, confidence=0.0, capture_next=(advice,))
