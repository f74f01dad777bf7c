"""What decided a claim, in words: the interval and the rule, or the alternative that is better."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from harness.analysis.advice import Gain, worst
from harness.analysis.claims import AdviceResult, ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.verdict import Verdict, cleared, is_sampled, judged_ends, limits
from harness.problem.model import Bound, Problem
from harness.report.columns import DASH
from harness.report.escape import Markdown
from harness.report.numbers import between, bounds, in_cell, in_full, measured

_OTHERS: tuple[Verdict, ...] = ("refuted", "inconclusive", "not measured")


def why(problem: Problem, result: ClaimResult) -> str:
    """Return the reason of a verdict; empty where the value beside the bound says it."""
    if isinstance(result, AdviceResult) and result.gains:
        return _why_advice(problem, result)
    if result.verdict == "not measured":
        return result.measured.why
    if result.verdict == "inconclusive":
        return _undecided(result.measured, result.claim.bound)
    return ""


def by_verdict(results: Iterable[ClaimResult]) -> dict[str, int]:
    """Return the number of claims with each verdict that occurs."""
    return dict(Counter(result.verdict for result in results))


def tally(counts: Mapping[str, int]) -> str:
    """Return "9 of 11 claims reproduced, 1 refuted, 1 inconclusive" of counts by verdict."""
    reproduced, others = counted(counts)
    return ", ".join([f"{reproduced} reproduced", *others])


def counted(counts: Mapping[str, int]) -> tuple[str, list[str]]:
    """Return "9 of 11 claims", and the count of each other verdict, such as "1 refuted"."""
    reproduced = f"{counts.get('reproduced', 0)} of {sum(counts.values())} claims"
    return reproduced, [f"{counts[name]} {name}" for name in _OTHERS if counts.get(name)]


def value(result: ClaimResult) -> Markdown:
    """Return a claim's measured value, in full where the claim is inconclusive."""
    if result.measured.value is None:
        return Markdown(DASH)
    decides = result.verdict == "inconclusive" and is_sampled(result.measured)
    return in_full(result.measured) if decides else in_cell(result.measured)


def by_process(value: Measured) -> str:
    """Return "by process 1.2 to 2.8×" of a value that processes differ in, otherwise ""."""
    if value.spread is None or value.spread[0] == value.spread[1]:
        return ""
    return f"by process {between(*value.spread, value.unit)}"


def promised(result: ClaimResult) -> str:
    """Return the bound of a claim, or the gain of an advice."""
    bound = limit(result.claim.bound, result.measured.unit)
    return f"gain {bound}" if result.claim.kind == "advice" else bound


def limit(bound: Bound, unit: str = "") -> str:
    """Return a bound in words, in the unit of the measured value."""
    return bounds(*limits(bound), unit)


def _undecided(value: Measured, bound: Bound) -> str:
    """Return how processes differ in a value, and the demand of the rule that it did not meet."""
    return "; ".join(filter(None, [by_process(value), _clearance(value, bound)]))


def _clearance(value: Measured, bound: Bound) -> str:
    """Return the demand of the verdicts' rule that an interval did not meet."""
    if math.isinf(value.clock_factor):
        return "its times decide nothing"
    if not is_sampled(value):
        return ""
    asked = cleared(limits(bound))
    ci95, ci99 = judged_ends(value)
    if asked[0] <= ci95[0] and ci95[1] <= asked[1]:
        whole = "99 % interval" + (", widened as clocks or GPUs differ" * (value.clock_factor != 1))
        return f"the {whole}, {bounds(*ci99, value.unit)}, is not inside the bound"
    why = f"the rule asks for {bounds(*asked, value.unit)} with the whole interval"
    if value.clock_factor == 1:
        return why
    return f"{why}, widened for differing clocks or GPUs to {between(*ci95, value.unit)}"


def _why_advice(problem: Problem, result: AdviceResult) -> str:
    decided = worst(result.gains)
    case = problem.cases[decided.case].label
    if decided.verdict == "not measured":
        return f"{case}: {decided.gain.why}"
    if decided.verdict == "reproduced":
        return _closest(problem, result.gains)
    if decided.beaten and decided.rival:
        better = problem.variants[decided.rival].label
        factor = "" if decided.behind.value is None else f" by {measured(decided.behind)}"
        return f"{case}: {better} is better{factor}"
    if decided.rival and decided.undecided:
        return f"{case}: not comparable with {problem.variants[decided.rival].label}"
    undecided = _undecided(decided.gain, result.claim.bound)
    return "; ".join(filter(None, [f"{case}: {in_full(decided.gain)}", undecided]))


def _closest(problem: Problem, gains: tuple[Gain, ...]) -> str:
    """Return the alternative that comes closest in any case."""
    compared = [gain for gain in gains if gain.rival]
    if not compared:
        return "no alternative was measured"
    closest = min(compared, key=lambda gain: gain.lead.value or 0.0)
    rival = problem.variants[str(closest.rival)].label
    case = problem.cases[closest.case].label
    return f"over the closest alternative, {rival}, {measured(closest.lead)} at {case}"
