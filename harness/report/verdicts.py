"""What decided a claim, in words: the interval and the rule, or the alternative that is better."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from harness.analysis.advice import Gain, least, worst
from harness.analysis.claims import AdviceResult, BoundResult, ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.verdict import (
    LEAST_PROCESSES,
    MOST_FURTHER,
    TESTED,
    THRESHOLD,
    Verdict,
    further_rounds,
    is_described,
    is_sampled,
    judged_ends,
    limits,
    place,
)
from harness.problem.model import Bound, Problem
from harness.report.columns import DASH
from harness.report.escape import Markdown
from harness.report.numbers import between, bounds, deciding, in_full, measured, shown_spread

_FAILED: tuple[Verdict, ...] = ("refuted", "tie", "undecided")
_UNTESTED: tuple[Verdict, ...] = ("described", "not measured")
_UNTOLD = 1000.0
"""An interval whose ends differ by more than this factor tells a reader nothing by its ends."""
_TO_SPARE = f", {100 * THRESHOLD:g} % to spare"


def why(problem: Problem, result: ClaimResult) -> str:
    """Return the reason of a verdict; empty where the value beside the bound says it."""
    if result.verdict == "described" and result.untested:
        return result.untested
    if isinstance(result, AdviceResult) and result.gains:
        return _why_advice(problem, result)
    if result.verdict == "not measured":
        return result.measured.why
    return _why_not(result.measured, result.claim.bound, result.verdict)


def hidden(result: ClaimResult) -> str:
    """Return what leaves a bound undecided that the ends of its printed value do not show.

    "" where they lie on both sides of the bound, or where the verdict is another one.
    """
    value = result.measured
    if not isinstance(result, BoundResult) or result.verdict != "undecided":
        return ""
    if math.isinf(value.clock_factor):
        return ""
    bound, judged = limits(result.claim.bound), judged_ends(value)
    printed = shown_spread(value) or (value.low or 0.0, value.high or 0.0)
    if place(printed, bound, sampled=False) == "undecided":
        return ""
    margin = f"less than {100 * THRESHOLD:g} %"
    if (side := place(judged, bound, sampled=False)) != "undecided":
        return f"{margin} to spare" if side == "inside" else f"missed by {margin}"
    if judged[1] > _UNTOLD * judged[0] > 0:
        return "processes differ too much for an interval"
    ends = between(*judged, value.unit)
    if value.clock_factor > 1:
        return f"widened for clocks or GPUs to {ends}"
    return f"its interval is {ends}"


def by_verdict(results: Iterable[ClaimResult]) -> dict[str, int]:
    """Return the number of claims with each verdict that occurs."""
    return dict(Counter(result.verdict for result in results))


def tally(counts: Mapping[str, int]) -> str:
    """Return "9 of 11 tested claims reproduced, 2 refuted; 6 described" of counts by verdict."""
    tested = sum(counts.get(name, 0) for name in TESTED)
    reproduced = f"{counts.get('reproduced', 0)} of {tested} tested claims reproduced"
    parts = [", ".join([reproduced, *_counts(counts, _FAILED)] if tested else ["no claim tested"])]
    return "; ".join([*parts, *filter(None, [", ".join(_counts(counts, _UNTESTED))])])


def title(headlines: Mapping[str, int]) -> str:
    """Return in a few words how the headline claims fared, by their counts by verdict.

    "Reproduced" where all are; "Reproduced where tested: 5 of 9 headlines" where all that were
    tested are, "Partly tested: 2 of 9 headlines" if these are fewer than half; "Partly reproduced:
    3 of 5 headlines", of "tested headlines" where others were not; "Refuted" and "Undecided" where
    none is; "Described" or "Not measured" where none was tested; "Measured" of a study that claims
    nothing.
    """
    tested = sum(headlines.get(name, 0) for name in TESTED)
    reproduced = headlines.get("reproduced", 0)
    if not tested:
        untested = "Described" if headlines.get("described") else "Not measured"
        return untested if headlines else "Measured"
    if reproduced < tested:
        return _not_all(headlines, reproduced, tested)
    every = sum(headlines.values())
    if tested == every:
        return "Reproduced"
    what = "Reproduced where tested" if 2 * tested >= every else "Partly tested"
    return f"{what}: {tested} of {every} headlines"


def _not_all(headlines: Mapping[str, int], reproduced: int, tested: int) -> str:
    if reproduced:
        what = "headlines" if tested == sum(headlines.values()) else "tested headlines"
        return f"Partly reproduced: {reproduced} of {tested} {what}"
    return "Refuted" if headlines.get("refuted") else "Undecided"


def value(result: ClaimResult) -> Markdown:
    """Return a claim's measured value as sentences have it, in full where it is undecided."""
    if result.measured.value is None:
        return Markdown(DASH)
    decides = result.verdict in ("undecided", "tie") and is_sampled(result.measured)
    return in_full(result.measured) if decides else measured(result.measured)


def finding(problem: Problem, result: ClaimResult) -> str:
    """Return the name of the value that decides a claim: metric, variants and case.

    Such as "wall time, eager over compiled, M = 1". Where both sides are of one variant, which
    measures several things in turn, it is told what they are of in place of the variant.
    """
    if isinstance(result, BoundResult):
        first, *second = result.places
    else:
        claim = result.claim
        case = least(result.gains).case if result.gains else claim.at[0]
        sides = [(claim.metric, variant, case) for variant in (claim.take, claim.instead_of)]
        first, *second = sides if problem.metric(claim.metric).better == "higher" else sides[::-1]
    (metric, variant, case), other = first, second[0] if second else first
    labels = (problem.metric(metric).label, problem.metric(other[0]).label)
    variants = (problem.variants[variant].label, problem.variants[other[1]].label)
    regions = tuple(name.partition("@")[2] for name in (metric, other[0]))
    if variant == other[1] and all(regions):
        variants = (region_label(problem, regions[0]), region_label(problem, regions[1]))
    cases = (problem.cases[case].label, problem.cases[other[2]].label)
    return ", ".join(
        first if first == second else f"{first} over {second}"
        for first, second in (labels, variants, cases)
    )


def region_label(problem: Problem, region: str) -> str:
    """Return the label of the variant that a region is named after, or the region's name.

    A region that is named after a size, such as 16384KiB, is called "16 MiB".
    """
    if variant := problem.variants.get(region):
        return variant.label
    kib = region.removesuffix("KiB")
    if kib == region or not kib.isdecimal():
        return region
    return f"{int(kib) // 1024} MiB" if int(kib) and int(kib) % 1024 == 0 else f"{kib} KiB"


def by_process(value: Measured) -> str:
    """Return "by process 1.2 to 2.8×" of a value that processes differ in, otherwise ""."""
    if value.spread is None or value.spread[0] == value.spread[1]:
        return ""
    return f"by process {between(*value.spread, value.unit)}"


def promised(result: ClaimResult) -> str:
    """Return the bound of a claim, or the gain of an advice, with the margin that it needs."""
    bound = limit(result.claim.bound, result.measured.unit)
    if result.measured.timed and is_sampled(result.measured):
        bound += _TO_SPARE
    return f"gain {bound}" if result.claim.kind == "advice" else bound


def limit(bound: Bound, unit: str = "") -> str:
    """Return a bound in words, in the unit of the measured value."""
    return bounds(*limits(bound), unit)


def _counts(counts: Mapping[str, int], names: Iterable[str]) -> list[str]:
    return [f"{counts[name]} {name}" for name in names if counts.get(name)]


def _why_not(value: Measured, bound: Bound, verdict: Verdict) -> str:
    """Return why a value neither reproduces nor refutes a bound; "" where it does."""
    if verdict == "described":
        return _few(value)
    if verdict == "tie":
        return f"within {100 * THRESHOLD:g} % of the bound"
    return _undecided(value, bound) if verdict == "undecided" else ""


def _few(value: Measured) -> str:
    """Return that a value comes from too few processes."""
    count = "one process" if value.rounds == 1 else f"{value.rounds} processes"
    return f"{count}; {LEAST_PROCESSES} decide"


def _undecided(value: Measured, bound: Bound) -> str:
    """Return how processes differ in a value, and what would decide it."""
    return "; ".join(filter(None, [by_process(value), _would_decide(value, bound)]))


def _would_decide(value: Measured, bound: Bound) -> str:
    """Return how many rounds more would decide a value, and what widens its interval."""
    if math.isinf(value.clock_factor):
        return "its times decide nothing"
    if not is_sampled(value):
        return ""
    if value.rounds < LEAST_PROCESSES:
        return _few(value)
    rounds = further_rounds(value, bound)
    count = f"{rounds} more round{'s' * (rounds != 1)}"
    decided = f"{count if rounds else f'not even {MOST_FURTHER} more rounds'} would decide it"
    if value.clock_factor == 1:
        return decided
    ends = between(*judged_ends(value), value.unit)
    printed = (value.low or 0.0, value.high or 0.0)
    if rounds is None and place(printed, limits(bound)) != "undecided":
        decided = "one GPU at one clock would decide it"
    return f"widened for differing clocks or GPUs to {ends}; {decided}"


def _why_advice(problem: Problem, result: AdviceResult) -> str:
    decided = worst(result.gains)
    case = problem.cases[decided.case].label
    if decided.verdict == "not measured":
        return f"{case}: {decided.gain.why}"
    if decided.verdict == "reproduced":
        return _closest(problem, result.gains)
    if against := _against(problem, decided):
        return f"{case}: {against}"
    reason = _why_not(decided.gain, result.claim.bound, decided.verdict)
    return "; ".join(filter(None, [f"{case}: {in_full(decided.gain)}", reason]))


def _against(problem: Problem, gain: Gain) -> str:
    """Return how an alternative decides a case, "" where the gain itself does."""
    if gain.rival is None:
        return ""
    label = problem.variants[gain.rival].label
    if gain.standing == "better" and gain.verdict == "refuted":
        factor = "" if gain.behind.value is None else f" by {measured(gain.behind)}"
        return f"{label} is better{factor}"
    if gain.standing == "unknown" and gain.verdict == "undecided":
        return f"not comparable with {label}"
    if gain.standing == "tie" and gain.verdict == "tie":
        return f"not told apart from {label}: {deciding(gain.lead)}"
    if gain.standing == "described" and not is_described(gain.gain):
        return f"{label} was measured in {_few(gain.lead)}"
    return ""


def _closest(problem: Problem, gains: tuple[Gain, ...]) -> str:
    """Return the alternative that comes closest in any case."""
    compared = [gain for gain in gains if gain.rival]
    if not compared:
        return "no alternative was measured"
    closest = min(compared, key=lambda gain: gain.lead.value or 0.0)
    rival = problem.variants[str(closest.rival)].label
    case = problem.cases[closest.case].label
    return f"over the closest alternative, {rival}, {measured(closest.lead)} at {case}"
